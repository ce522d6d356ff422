// SPDX-License-Identifier: MIT
//! Asks Ballista: `ask SCHEDULER TABLES SQL`.
//!
//! Place in the flow: for tests/ballista/run. What follows is the program of docs/guide/query.md.

use ballista::prelude::SessionContextExt;
use datafusion::arrow::json::writer::{LineDelimited, WriterBuilder};
use datafusion::prelude::SessionContext;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, scheduler, tables, question] = &words[..] else {
        return Err("usage: ask SCHEDULER TABLES SQL".into());
    };
    let context = SessionContext::remote(scheduler).await?;
    for statement in std::fs::read_to_string(tables)?.lines() {
        context.sql(statement).await?;
    }
    let rows = context.sql(question).await?.collect().await?;
    let output = WriterBuilder::new().with_explicit_nulls(true);
    let mut output = output.build::<_, LineDelimited>(std::io::stdout());
    output.write_batches(&rows.iter().collect::<Vec<_>>())?;
    Ok(output.finish()?)
}
