// SPDX-License-Identifier: MIT
//! Which requests of the Trace Server Protocol are answered.
//!
//! Place in the flow: the connection is this user's (`peer`); now pages in this user's browser are
//! kept out. A name that somebody lets point to the loopback address is found out by `Host`, a
//! page by `Origin` and `Sec-Fetch-Site`, and a form by its type. Only the editors whose origins
//! are known get the headers that let them read an answer.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode, Uri};

use crate::guard::{leads_here, one, refuse, text, Refusal};

/// What the webviews of VS Code and of its kin are served from: a scheme that no web page has.
const WEBVIEW: &str = "vscode-webview://";
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
const HTTP_PORT: u16 = 80;

/// What is compared with the headers of requests.
pub(super) struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    /// `origins`: those that are answered beside webviews, each as [`is_loopback_origin`] has it.
    pub fn new(port: u16, origins: Vec<String>) -> Self {
        let mut hosts: Vec<String> = LOOPBACK.iter().map(|name| format!("{name}:{port}")).collect();
        if port == HTTP_PORT {
            // Clients leave it out.
            hosts.extend(LOOPBACK.map(str::to_string));
        }
        Self { hosts, origins }
    }

    /// The origin that the answer may be read by; none, if the request has none.
    pub fn check<'h>(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &'h HeaderMap,
    ) -> Result<Option<&'h str>, Refusal> {
        let one = |name: &HeaderName| one(headers, name);
        let is_own = |host: &str| self.hosts.iter().any(|own| own == host);
        let is_named = one(&header::HOST) && text(headers, &header::HOST).is_some_and(is_own);
        if !is_named || !leads_here(uri, is_own) {
            return refuse(StatusCode::MISDIRECTED_REQUEST, "this address has another name");
        }
        let origin = match headers.get(header::ORIGIN) {
            None => None,
            Some(origin) => {
                let origin = origin.to_str().ok().filter(|origin| self.knows(origin));
                let Some(origin) = origin.filter(|_| one(&header::ORIGIN)) else {
                    return refuse(StatusCode::FORBIDDEN, "other sites are not answered");
                };
                Some(origin)
            }
        };
        let site = HeaderName::from_static("sec-fetch-site");
        let is_elsewhere = text(headers, &site).is_some_and(|site| site != "none");
        if !one(&site) || (origin.is_none() && is_elsewhere) {
            return refuse(StatusCode::FORBIDDEN, "other sites are not answered");
        }
        let has_body = headers.contains_key(header::TRANSFER_ENCODING)
            || text(headers, &header::CONTENT_LENGTH).is_some_and(|length| length != "0");
        match *method {
            Method::POST => {
                let kind = text(headers, &header::CONTENT_TYPE).unwrap_or("");
                match one(&header::CONTENT_TYPE) && kind.eq_ignore_ascii_case("application/json") {
                    true => Ok(origin),
                    false => refuse(
                        StatusCode::UNSUPPORTED_MEDIA_TYPE,
                        "questions are asked as application/json",
                    ),
                }
            }
            Method::GET | Method::DELETE if has_body => {
                refuse(StatusCode::PAYLOAD_TOO_LARGE, "this question has no body")
            }
            Method::GET | Method::DELETE => Ok(origin),
            // What a browser asks before it lets a page ask.
            Method::OPTIONS if origin.is_some() && !has_body => Ok(origin),
            Method::OPTIONS => refuse(StatusCode::FORBIDDEN, "no site asks for itself"),
            _ => refuse(StatusCode::METHOD_NOT_ALLOWED, "only GET, POST and DELETE are answered"),
        }
    }

    fn knows(&self, origin: &str) -> bool {
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        origin.strip_prefix(WEBVIEW).is_some_and(is_name)
            || self.origins.iter().any(|known| known == origin)
    }
}

/// Whether this is the origin of a page that a program of this machine serves to it.
pub(super) fn is_loopback_origin(origin: &str) -> bool {
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let rest = host.and_then(|host| LOOPBACK.iter().find_map(|name| host.strip_prefix(name)));
    rest.is_some_and(|rest| {
        let port = rest.strip_prefix(':');
        let is_port = |port: &str| {
            port.bytes().all(|b| b.is_ascii_digit()) && port.parse().is_ok_and(|port: u16| port > 0)
        };
        rest.is_empty() || port.is_some_and(is_port)
    })
}

/// The headers that let a page of an origin read the answer, and ask.
pub(super) fn let_read(headers: &mut HeaderMap, origin: &str) {
    let Ok(origin) = HeaderValue::from_str(origin) else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    for (name, value) in [
        (header::VARY, "Origin"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, Accept"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
        (HeaderName::from_static("access-control-allow-private-network"), "true"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: (&str, &str) = ("host", "127.0.0.1:8080");
    const JSON: (&str, &str) = ("content-type", "application/json");

    fn asked(method: Method, headers: &[(&'static str, &str)]) -> Result<Option<String>, u16> {
        asked_at("/tsp/api/health", method, headers)
    }

    fn asked_at(
        target: &'static str,
        method: Method,
        headers: &[(&'static str, &str)],
    ) -> Result<Option<String>, u16> {
        let guard = Guard::new(8080, vec!["http://localhost:3000".into()]);
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(*name, value.parse().unwrap());
        }
        let found = guard.check(&method, &Uri::from_static(target), &all);
        found.map(|o| o.map(str::to_string)).map_err(|refusal| refusal.status.as_u16())
    }

    #[test]
    fn programs_and_known_editors_are_answered() {
        for host in ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"] {
            assert_eq!(asked(Method::GET, &[("host", host)]), Ok(None));
        }
        assert_eq!(asked(Method::POST, &[HOST, JSON]), Ok(None));
        assert_eq!(asked(Method::DELETE, &[HOST, ("content-length", "0")]), Ok(None));
        for origin in ["vscode-webview://0abc-1f", "http://localhost:3000"] {
            let all = [HOST, JSON, ("origin", origin), ("sec-fetch-site", "cross-site")];
            for method in [Method::GET, Method::POST, Method::DELETE, Method::OPTIONS] {
                assert_eq!(asked(method, &all), Ok(Some(origin.to_string())));
            }
        }
    }

    #[test]
    fn other_sites_and_names_are_refused() {
        for host in ["evil.example:8080", "127.0.0.1", "localhost:80", "127.0.0.1:8081", ""] {
            assert_eq!(asked(Method::GET, &[("host", host)]), Err(421), "{host}");
        }
        assert_eq!(asked(Method::GET, &[]), Err(421));
        assert_eq!(asked(Method::GET, &[HOST, ("host", "evil.example")]), Err(421));
        assert_eq!(asked_at("http://evil.example:8080/tsp/api", Method::GET, &[HOST]), Err(421));
        assert_eq!(asked_at("http://localhost:8080/tsp/api", Method::GET, &[HOST]), Ok(None));
        for origin in [
            "http://evil.example",
            "null",
            "http://localhost:3001",
            "http://localhost:8080",
            "vscode-webview://",
            "vscode-webview://a/b",
            "vscode-webview://a@evil",
        ] {
            let all = [HOST, JSON, ("origin", origin)];
            for method in [Method::GET, Method::POST, Method::OPTIONS] {
                assert_eq!(asked(method, &all), Err(403), "{origin}");
            }
        }
        let two = [HOST, ("origin", "http://localhost:3000"), ("origin", "http://evil.example")];
        assert_eq!(asked(Method::GET, &two), Err(403));
        assert_eq!(asked(Method::GET, &[HOST, ("sec-fetch-site", "cross-site")]), Err(403));
        let two = [HOST, ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")];
        assert_eq!(asked(Method::GET, &two), Err(403));
        assert_eq!(asked(Method::OPTIONS, &[HOST]), Err(403));
    }

    #[test]
    fn what_a_form_can_send_is_refused() {
        assert_eq!(asked(Method::POST, &[HOST]), Err(415));
        for kind in ["text/plain", "application/json; charset=utf-8", "application/json,text/plain"]
        {
            assert_eq!(asked(Method::POST, &[HOST, ("content-type", kind)]), Err(415), "{kind}");
        }
        assert_eq!(asked(Method::GET, &[HOST, ("content-length", "2")]), Err(413));
        assert_eq!(asked(Method::PUT, &[HOST, JSON]), Err(405));
    }

    #[test]
    fn only_loopback_origins_can_be_named() {
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1"] {
            assert!(is_loopback_origin(origin), "{origin}");
        }
        for origin in [
            "http://evil.example",
            "http://localhost.evil.example",
            "http://localhost:3000/",
            "http://localhost:",
            "http://localhost:70000",
            "http://localhost:0",
            "http://localhost:+1",
            "localhost:3000",
            "*",
            "null",
        ] {
            assert!(!is_loopback_origin(origin), "{origin}");
        }
    }
}
