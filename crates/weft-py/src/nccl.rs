//! NCCL's search across the border: a node in, its graphs out.

use crate::refuse;
use pyo3::prelude::*;
use weft_nccl::JobDocument;

/// The graphs that a version of NCCL finds on a node, as JSON in the order of the requests.
#[pyfunction]
pub(crate) fn search_nccl_graphs(py: Python<'_>, job_json: &str) -> PyResult<String> {
    py.detach(|| {
        let job: JobDocument = serde_json::from_str(job_json).map_err(refuse)?;
        let graphs = weft_nccl::search(&job).map_err(refuse)?;
        serde_json::to_string(&graphs).map_err(refuse)
    })
}
