// SPDX-License-Identifier: MIT
//! Which requests are answered: those of the page that this server gave out.
//!
//! Place in the flow: `server` asks before anything of a request is used. A name that another
//! site's owner lets point to the loopback address (DNS rebinding) is found out by `Host`, a
//! script of another page by `Origin` and `Sec-Fetch-Site`, and everybody else by the token.

use hyper::header::{HeaderMap, HeaderName, CONTENT_LENGTH, HOST, ORIGIN, TRANSFER_ENCODING};
use hyper::{Method, StatusCode, Uri};

use crate::token::Token;

/// The longest path and query that are read.
const MOST_URI_BYTES: usize = 8 << 10;

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub reason: &'static str,
}

pub(crate) fn refuse<T>(status: StatusCode, reason: &'static str) -> Result<T, Refusal> {
    Err(Refusal { status, reason })
}

/// What stands behind the token in a request's path, without a slash before it.
pub(crate) fn path_of<'r>(
    method: &Method,
    uri: &'r Uri,
    headers: &HeaderMap,
    (address, token): (&str, &Token),
) -> Result<&'r str, Refusal> {
    let is_named = one(headers, &HOST) && text(headers, &HOST) == Some(address);
    if !is_named || !leads_here(uri, |named| named == address) {
        return refuse(StatusCode::MISDIRECTED_REQUEST, "this address has another name");
    }
    let own = format!("http://{address}");
    let is_own = |origin: &str| origin == own;
    let has_other = headers.get_all(ORIGIN).iter().any(|o| !o.to_str().is_ok_and(is_own));
    let site = HeaderName::from_static("sec-fetch-site");
    // A browser says each once.
    if has_other || !one(headers, &ORIGIN) || !one(headers, &site) {
        return refuse(StatusCode::FORBIDDEN, "other sites are not answered");
    }
    if method != Method::GET {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "questions are asked with GET");
    }
    let has_body = headers.contains_key(TRANSFER_ENCODING)
        || text(headers, &CONTENT_LENGTH).is_some_and(|length| length != "0");
    if has_body {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "a question has no body");
    }
    if uri.path_and_query().map_or(0, |all| all.as_str().len()) > MOST_URI_BYTES {
        return refuse(StatusCode::URI_TOO_LONG, "the question is too long");
    }
    let path = uri.path().strip_prefix('/').unwrap_or("");
    let (digits, rest) = path.split_once('/').unwrap_or((path, ""));
    if !token.is(digits) {
        return refuse(StatusCode::FORBIDDEN, "open the address that `lull view` printed");
    }
    // A page of another site may lead here; what it loads or asks of itself may not.
    let is_elsewhere = text(headers, &site).is_some_and(|s| s != "same-origin" && s != "none");
    if is_elsewhere && !rest.is_empty() {
        return refuse(StatusCode::FORBIDDEN, "other sites are not answered");
    }
    Ok(rest)
}

/// Whether a target that names a server, as those of proxies do, names this one.
pub(crate) fn leads_here(uri: &Uri, is_own: impl Fn(&str) -> bool) -> bool {
    let is_http = uri.scheme_str().is_none_or(|scheme| scheme == "http");
    is_http && uri.authority().is_none_or(|named| is_own(named.as_str()))
}

/// Whether a header is there once at most.
pub(crate) fn one(headers: &HeaderMap, name: &HeaderName) -> bool {
    headers.get_all(name).iter().count() <= 1
}

pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "127.0.0.1:4000";

    fn asked(method: &str, path: &str, headers: &[(&'static str, &str)]) -> Result<String, u16> {
        let token = Token::new().unwrap();
        let uri: Uri = path.replace("TOKEN", token.text()).parse().unwrap();
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(*name, value.parse().unwrap());
        }
        let method = method.parse().unwrap();
        let found = path_of(&method, &uri, &all, (ADDRESS, &token));
        found.map(str::to_string).map_err(|refusal| refusal.status.as_u16())
    }

    #[test]
    fn page_and_its_questions_are_answered() {
        let host = ("host", ADDRESS);
        assert_eq!(asked("GET", "/TOKEN/", &[host]), Ok("".into()));
        assert_eq!(asked("GET", "/TOKEN/v1/lost?from=1", &[host]), Ok("v1/lost".into()));
        let same = [host, ("origin", "http://127.0.0.1:4000"), ("sec-fetch-site", "same-origin")];
        assert_eq!(asked("GET", "/TOKEN/page.js", &same), Ok("page.js".into()));
        assert_eq!(
            asked("GET", "/TOKEN/", &[host, ("sec-fetch-site", "cross-site")]),
            Ok("".into())
        );
    }

    #[test]
    fn a_wrong_token_is_refused() {
        let host = [("host", ADDRESS)];
        for path in ["/", "/v1/trace", "/00000000000000000000000000000000/v1/trace", "//TOKEN/"] {
            assert_eq!(asked("GET", path, &host), Err(403), "{path}");
        }
    }

    #[test]
    fn another_name_of_this_address_is_refused() {
        for host in ["evil.example:4000", "localhost:4000", "127.0.0.1:4001", "127.0.0.1", ""] {
            assert_eq!(asked("GET", "/TOKEN/", &[("host", host)]), Err(421), "{host}");
        }
        assert_eq!(asked("GET", "/TOKEN/", &[]), Err(421));
        for second in ["evil.example", ADDRESS] {
            let both = [("host", ADDRESS), ("host", second)];
            assert_eq!(asked("GET", "/TOKEN/", &both), Err(421));
        }
        // A target may name the server, too.
        let host = [("host", ADDRESS)];
        for target in [
            "http://evil.example/TOKEN/",
            "http://127.0.0.1/TOKEN/",
            "https://127.0.0.1:4000/TOKEN/",
        ] {
            assert_eq!(asked("GET", target, &host), Err(421), "{target}");
        }
        assert_eq!(
            asked("GET", "http://127.0.0.1:4000/TOKEN/v1/lost", &host),
            Ok("v1/lost".into())
        );
    }

    #[test]
    fn other_sites_are_refused_even_when_they_know_the_token() {
        for origin in
            ["http://evil.example", "null", "http://127.0.0.1:4001", "https://127.0.0.1:4000"]
        {
            let headers = [("host", ADDRESS), ("origin", origin)];
            assert_eq!(asked("GET", "/TOKEN/v1/trace", &headers), Err(403), "{origin}");
        }
        let headers = [("host", ADDRESS), ("sec-fetch-site", "cross-site")];
        assert_eq!(asked("GET", "/TOKEN/v1/trace", &headers), Err(403));
        for (name, good) in [("origin", "http://127.0.0.1:4000"), ("sec-fetch-site", "same-origin")]
        {
            for second in [good, "cross-site"] {
                let headers = [("host", ADDRESS), (name, good), (name, second)];
                assert_eq!(asked("GET", "/TOKEN/v1/trace", &headers), Err(403), "{name}: {second}");
            }
        }
    }

    #[test]
    fn what_is_no_short_question_is_refused() {
        let host = ("host", ADDRESS);
        assert_eq!(asked("POST", "/TOKEN/v1/trace", &[host]), Err(405));
        assert_eq!(asked("GET", "/TOKEN/", &[host, ("content-length", "9")]), Err(413));
        assert_eq!(asked("GET", "/TOKEN/", &[host, ("transfer-encoding", "chunked")]), Err(413));
        let long = format!("/TOKEN/v1/events?e={}", "x".repeat(MOST_URI_BYTES));
        assert_eq!(asked("GET", &long, &[host]), Err(414));
    }
}
