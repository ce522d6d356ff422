// SPDX-License-Identifier: MIT
//! Tables as the engine sees them: what it asks for of a table, and the stream of batches that
//! answers.
//!
//! Place in the flow: each table is a [`Source`]; a [`Table`] of the engine holds it, and plans a
//! [`Scan`], which reads on a thread of its own and hands batches on through a short queue. What
//! the engine does with them it does on all processors; where a source can, it reads on several
//! too, slice by slice (`trace::in_slices`), and gives the rows in the order of time.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};

use crate::bounds::Bounds;

/// Batches that wait to be taken.
const QUEUED_BATCHES: usize = 4;

/// What a query wants of a table.
#[derive(Debug, Clone)]
pub struct Request {
    /// Positions of the columns, in the order in which they are wanted.
    pub columns: Vec<usize>,
    pub bounds: Bounds,
    /// Rows, at most.
    pub limit: Option<usize>,
}

/// Where batches go. It breaks when no more are wanted.
pub type Give<'a> = dyn FnMut(Result<RecordBatch>) -> ControlFlow<()> + 'a;

/// A table that is read from traces.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    fn name(&self) -> &str;
    fn schema(&self) -> SchemaRef;
    /// Whether conditions on time, processor and thread spare it work.
    fn has_bounds(&self) -> bool;
    /// Gives the rows, with the columns that are asked for.
    fn read(&self, request: &Request, give: &mut Give<'_>);
}

/// A [`Source`] as a table of the engine.
#[derive(Debug)]
pub struct Table(pub Arc<dyn Source>);

#[async_trait]
impl TableProvider for Table {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.0.schema().fields().len()).collect();
        let columns: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let bounds = Bounds::of(filters);
        let request = Request { columns, bounds, limit };
        Ok(Arc::new(Scan::new(Arc::clone(&self.0), request)?))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.0.has_bounds() && Bounds::understand(filter) {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }
}

/// A planned pass over a table.
#[derive(Debug)]
pub struct Scan {
    source: Arc<dyn Source>,
    request: Request,
    properties: Arc<PlanProperties>,
}

impl Scan {
    fn new(source: Arc<dyn Source>, request: Request) -> Result<Self> {
        let schema = Arc::new(source.schema().project(&request.columns)?);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = properties.with_scheduling_type(SchedulingType::Cooperative);
        Ok(Self { source, request, properties: Arc::new(properties) })
    }
}

impl DisplayAs for Scan {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.source.schema();
        let names = self.request.columns.iter().filter_map(|at| schema.fields().get(*at));
        let names: Vec<&str> = names.map(|field| field.name().as_str()).collect();
        if matches!(form, DisplayFormatType::TreeRender) {
            return writeln!(f, "table={}", self.source.name());
        }
        let (name, bounds) = (self.source.name(), &self.request.bounds);
        write!(f, "Scan: table={name}, columns=[{}]{bounds}", names.join(", "))?;
        match self.request.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for Scan {
    fn name(&self) -> &str {
        "Scan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut stream = RecordBatchReceiverStream::builder(self.schema(), QUEUED_BATCHES);
        let (queue, source) = (stream.tx(), Arc::clone(&self.source));
        let request = self.request.clone();
        stream.spawn_blocking(move || {
            let mut left = request.limit.unwrap_or(usize::MAX);
            source.read(&request, &mut |batch| {
                let batch = batch.map(|batch| match batch.num_rows() > left {
                    true => batch.slice(0, left),
                    false => batch,
                });
                left -= batch.as_ref().map_or(0, RecordBatch::num_rows);
                match queue.blocking_send(batch) {
                    Ok(()) if left > 0 => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                }
            });
            Ok(())
        });
        Ok(stream.build())
    }
}

/// An error of the engine's about what was read.
pub fn failure(what: impl fmt::Display) -> DataFusionError {
    DataFusionError::Execution(what.to_string())
}
