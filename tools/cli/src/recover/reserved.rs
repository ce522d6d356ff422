// SPDX-License-Identifier: MIT
//! What the kernel's flight recorder held when the machine went down, made into a trace.
//!
//! Place in the flow: `recover` comes here for /dev/lull. The module has found the session in the
//! memory that was reserved at boot; its bytes are copied, and read as those that a killed recorder
//! left are. The memory is free for others once all of it is in the trace.

use super::{facts, tell, whole, RecoverArgs, DONE, FAILED, INCOMPLETE};
use crate::{newest, say};
use consumer::folder::Sharing;
use consumer::output::{Older, Output};
use consumer::{Consumer, Options};
use session::device::Device;
use session::reserved::Left;
use session::Session;
use std::sync::Arc;
use std::time::Duration;

/// What the session is named by.
pub const NAME: &str = session::abi::KERNEL_DEVICE;
const STOPPED: &str =
    "until the machine went down: events that threads had begun and not finished \
    then are lost; events of programs were not kept";

/// Recovers or discards what was left; None where nothing was, or where that cannot be known. An
/// error of the device is one only for who has named it.
pub fn run(args: &RecoverArgs) -> anyhow::Result<Option<i32>> {
    let device = match Device::open() {
        Ok(Some(device)) => device,
        Err(error) if args.what.is_some() => return Err(error.into()),
        _ => return Ok(None),
    };
    let left = match device.left() {
        Ok(Some(left)) => left,
        Err(error) if args.what.is_some() => return Err(error.into()),
        Err(error) => {
            say(&error.to_string());
            return Ok(Some(FAILED));
        }
        Ok(None) => return Ok(None),
    };
    if args.discard {
        left.forget()?;
        say("what a crash of the machine left was removed");
        return Ok(Some(DONE));
    }
    recover(args, left).map(Some)
}

fn recover(args: &RecoverArgs, left: Left) -> anyhow::Result<i32> {
    let session = Arc::new(Session::of_memory(left.memory()?)?);
    let facts = facts::of_earlier_boot(session.memory.fixed(), left.begun())?;
    let output = match &args.output {
        Some(path) => Output::create(path, Sharing::PRIVATE, Older::Refuse)?,
        None => Output::create_new(&newest::name(), Sharing::PRIVATE)?,
    };
    let options = Options { facts, flush_period: Duration::ZERO, limit_bytes: None };
    let mut consumer = Consumer::recover(session, output, options)?;
    consumer.output().keep();
    let told = consumer.finish(|verdict, _| {
        verdict.limits.push(STOPPED.into());
        whole::count(verdict, false);
    })?;
    tell(args, &told)?;
    if told.unwritten_packets > 0 || !whole::is_finished(&told.trace) {
        say("what a crash of the machine left stays: run `lull recover` again");
        return Ok(FAILED);
    }
    left.forget()?;
    Ok(if told.has_loss() { INCOMPLETE } else { DONE })
}
