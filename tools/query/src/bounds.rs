// SPDX-License-Identifier: MIT
//! What a query's conditions say about the times, processors and threads of its rows.
//!
//! Place in the flow: the engine hands each table the conditions of the query. Those on `time`,
//! `cpu`, `pid` and `tid` are understood here: times lead through the packet index to the packets
//! that have them, and the others spare the decoding of fields. The engine checks every row again,
//! so bounds may be wider than the conditions, and never narrower.

use std::collections::BTreeSet;
use std::fmt;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use trace::{Event, Ns, Span};

use crate::identity::Who;

/// Rows that may be in the answer. `None`: any.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bounds {
    /// The first nanosecond, and the first that is too late.
    pub from: Option<i64>,
    pub until: Option<i64>,
    pub cpus: Option<BTreeSet<i64>>,
    pub pids: Option<BTreeSet<i64>>,
    pub tids: Option<BTreeSet<i64>>,
}

impl Bounds {
    /// The bounds of rows that meet all of these conditions.
    pub fn of(conditions: &[Expr]) -> Self {
        let mut bounds = Self::default();
        for condition in conditions {
            bounds.narrow(condition);
        }
        bounds
    }

    /// Whether a condition narrows bounds.
    pub fn understand(condition: &Expr) -> bool {
        let mut bounds = Self::default();
        bounds.narrow(condition);
        bounds != Self::default()
    }

    fn narrow(&mut self, condition: &Expr) {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                self.narrow(left);
                self.narrow(right);
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
                (Expr::Column(column), Expr::Literal(value, _)) => {
                    self.compare(&column.name, *op, value);
                }
                (Expr::Literal(value, _), Expr::Column(column)) => {
                    if let Some(op) = op.swap() {
                        self.compare(&column.name, op, value);
                    }
                }
                _ => {}
            },
            Expr::Between(between) if !between.negated => {
                if let (Expr::Column(column), Expr::Literal(low, _), Expr::Literal(high, _)) =
                    (&*between.expr, &*between.low, &*between.high)
                {
                    self.compare(&column.name, Operator::GtEq, low);
                    self.compare(&column.name, Operator::LtEq, high);
                }
            }
            Expr::InList(list) if !list.negated => {
                let Expr::Column(column) = &*list.expr else { return };
                let value = |item: &Expr| match item {
                    Expr::Literal(value, _) => number(value),
                    _ => None,
                };
                if let Some(values) = list.list.iter().map(value).collect::<Option<_>>() {
                    self.among(&column.name, values);
                }
            }
            _ => {}
        }
    }

    fn compare(&mut self, column: &str, op: Operator, value: &ScalarValue) {
        if column == "time" {
            let ScalarValue::TimestampNanosecond(Some(ns), _) = value else { return };
            let after = ns.checked_add(1);
            let (from, until) = match op {
                Operator::Eq => (Some(*ns), after),
                Operator::GtEq => (Some(*ns), None),
                Operator::Gt => (Some(after.unwrap_or(i64::MAX)), None),
                Operator::Lt => (None, Some(*ns)),
                Operator::LtEq => (None, after),
                _ => (None, None),
            };
            self.from = self.from.max(from);
            self.until = self.until.into_iter().chain(until).min();
        } else if let (Operator::Eq, Some(value)) = (op, number(value)) {
            self.among(column, BTreeSet::from([value]));
        }
    }

    fn among(&mut self, column: &str, values: BTreeSet<i64>) {
        let known = match column {
            "cpu" => &mut self.cpus,
            "pid" => &mut self.pids,
            "tid" => &mut self.tids,
            _ => return,
        };
        *known = Some(match known.take() {
            Some(known) => known.intersection(&values).copied().collect(),
            None => values,
        });
    }

    /// What of a span they leave.
    pub fn span(&self, span: &Span) -> Span {
        Span {
            from: span.from.max(self.from.map(Ns)),
            until: span.until.into_iter().chain(self.until.map(Ns)).min(),
        }
    }

    /// Whether the thread of an event decides.
    pub fn ask_who(&self) -> bool {
        self.pids.is_some() || self.tids.is_some()
    }

    /// Whether the event's processor is among those asked for.
    #[inline]
    pub fn take_cpu(&self, event: &Event<'_>) -> bool {
        self.cpus
            .as_ref()
            .is_none_or(|cpus| event.cpu().is_some_and(|cpu| cpus.contains(&i64::from(cpu.0))))
    }

    pub fn take_who(&self, who: &Who) -> bool {
        let is_one = |asked: &Option<BTreeSet<i64>>, found: Option<i64>| {
            asked.as_ref().is_none_or(|asked| found.is_some_and(|found| asked.contains(&found)))
        };
        is_one(&self.pids, who.pid) && is_one(&self.tids, who.tid)
    }
}

/// For `EXPLAIN`.
impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = [("from", self.from), ("until", self.until)];
        for (name, time) in times.into_iter().filter_map(|(name, time)| Some((name, time?))) {
            write!(f, ", {name}={time}")?;
        }
        for (name, asked) in [("cpu", &self.cpus), ("pid", &self.pids), ("tid", &self.tids)] {
            if let Some(asked) = asked {
                write!(f, ", {name}={asked:?}")?;
            }
        }
        Ok(())
    }
}

fn number(value: &ScalarValue) -> Option<i64> {
    match value.cast_to(&DataType::Int64) {
        Ok(ScalarValue::Int64(number)) if value.data_type().is_integer() => number,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::{col, lit};

    fn at(ns: i64) -> Expr {
        lit(ScalarValue::TimestampNanosecond(Some(ns), None))
    }

    #[test]
    fn times_become_a_span_whichever_way_they_are_compared() {
        let time = || col("time");
        let bounds = Bounds::of(&[time().gt(at(10)).and(at(20).gt_eq(time()))]);
        assert_eq!((bounds.from, bounds.until), (Some(11), Some(21)));
        let bounds = Bounds::of(&[time().between(at(5), at(7)), time().lt(at(7))]);
        assert_eq!((bounds.from, bounds.until), (Some(5), Some(7)));
        let bounds = Bounds::of(&[time().eq(at(i64::MAX))]);
        assert_eq!((bounds.from, bounds.until), (Some(i64::MAX), None));
        let span = Span { from: Some(Ns(6)), until: None };
        let bounds = Bounds::of(&[time().gt_eq(at(1)).and(time().lt(at(9)))]);
        assert_eq!(bounds.span(&span), Span { from: Some(Ns(6)), until: Some(Ns(9)) });
    }

    #[test]
    fn numbers_are_narrowed_by_each_condition_and_others_are_left_to_the_engine() {
        let both = [
            col("pid").in_list(vec![lit(4i64), lit(5i64)], false),
            col("pid").eq(lit(5i64)),
            col("cpu").eq(lit(3u32)),
        ];
        let bounds = Bounds::of(&both);
        assert_eq!(bounds.pids, Some(BTreeSet::from([5])));
        assert_eq!(bounds.cpus, Some(BTreeSet::from([3])));
        for other in [
            col("pid").gt(lit(5i64)),
            col("pid").eq(lit(5i64)).or(col("cpu").eq(lit(3u32))),
            col("pid").in_list(vec![lit(4i64)], true),
            col("x").eq(lit(5i64)),
            col("pid").eq(lit("5")),
        ] {
            assert!(!Bounds::understand(&other), "{other}");
        }
    }
}
