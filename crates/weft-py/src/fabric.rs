//! A fabric document across the border: read once, examined many times.

use pyo3::prelude::*;
use weft_fabric::check::{self, Plan};
use weft_fabric::document::{Engine, FabricDocument};
use weft_fabric::{
    FabricError, HcaId, PathLanes, PortId, Routes, engines, fault, generate, lane_paths,
};

use crate::refuse;

/// The engines that may have filled a document's tables.
const FILLING: [&str; 3] = ["dmodk", "minhop", "updn"];

/// A whole document, checked.
#[pyclass(frozen, module = "weft._engine")]
pub(crate) struct Fabric {
    written: FabricDocument,
    fabric: weft_fabric::Fabric,
}

/// The fabric of a document or generator; tables filled if an engine is named.
#[pyfunction]
pub(crate) fn build_fabric(py: Python<'_>, spec_json: &str) -> PyResult<Fabric> {
    py.detach(|| complete(spec_json)).map_err(refuse)
}

fn complete(spec_json: &str) -> Result<Fabric, FabricError> {
    let mut written = generate::parse(spec_json)?;
    let fabric = weft_fabric::Fabric::new(&written)?;
    let engine = written.routing.map(|routing| routing.engine);
    let routes = match engine {
        Some(engine) => {
            // Lanes are those of the document's own tables.
            written.lanes = None;
            Some(engines::routes_of(&fabric, &written, Some(engine))?)
        }
        None => Routes::from_document(&fabric, &written)?,
    };
    // Of a dragonfly the engine stays: by it the lanes of packets rise.
    let raised = engine == Some(Engine::Dragonfly);
    written.routing = written.routing.filter(|_| raised);
    if let Some(routes) = routes {
        let hcas: Vec<_> = (0..fabric.n_hcas()).map(HcaId).collect();
        if raised {
            let plan = Plan { routes: &routes, candidates: None, detours: false, raised };
            check::check_plan(&fabric, plan, &hcas)?;
        } else {
            let lanes = PathLanes::from_document(&fabric, &written)?;
            lane_paths::check_laned_routes(&fabric, &routes, lanes.as_ref(), &hcas)?;
        }
        written.lfts = Some(routes.to_lfts(&fabric));
    }
    Ok(Fabric { written, fabric })
}

#[pymethods]
impl Fabric {
    /// The whole document, JSON.
    fn document(&self, py: Python<'_>) -> String {
        // As written, not as a value: that would put names before `schema`, by which files are
        // known.
        py.detach(|| serde_json::to_string(&self.written).expect("names and numbers"))
    }

    /// The engines that fill the tables as the document has them.
    fn engines(&self, py: Python<'_>) -> Vec<&'static str> {
        let fills = |name: &&str| Engine::from_name(name).is_ok_and(|it| self.is_filled_by(it));
        py.detach(|| FILLING.into_iter().filter(fills).collect())
    }

    /// The egress ports crossed from each first to each second node (or HCA), the sending HCA's own
    /// first: by `engine`'s routes, else the document's, else those of minhop; with the cables at
    /// the ports `down` out of use.
    #[pyo3(signature = (pairs, engine=None, down=Vec::new()))]
    fn trace(
        &self,
        py: Python<'_>,
        pairs: Vec<(String, String)>,
        engine: Option<String>,
        down: Vec<String>,
    ) -> PyResult<Vec<Vec<String>>> {
        py.detach(|| self.paths(&pairs, engine.as_deref(), &down)).map_err(refuse)
    }
}

impl Fabric {
    fn is_filled_by(&self, engine: Engine) -> bool {
        let filled = || engines::compute(&self.fabric, engine).to_lfts(&self.fabric);
        self.written.lfts.as_ref().is_some_and(|lfts| *lfts == filled())
    }

    fn paths(
        &self,
        pairs: &[(String, String)],
        engine: Option<&str>,
        down: &[String],
    ) -> Result<Vec<Vec<String>>, FabricError> {
        let mut fabric = self.fabric.clone();
        for (index, name) in down.iter().enumerate() {
            let place = format!("down[{index}]");
            let port = fabric.port_named(&place, name)?;
            fault::take_down(&mut fabric, &place, port)?;
        }
        let engine = engine.map(Engine::from_name).transpose()?;
        if engine.is_none() && !down.is_empty() {
            let what = "no engine is named that routes around cables out of use";
            return Err(FabricError::document("down", what, "an engine with the ports"));
        }
        let find = |index: usize, name: &str| {
            fabric.hca_named(name).ok_or_else(|| {
                let what = format!("there is no node or HCA '{name}'");
                FabricError::document(format!("pairs[{index}]"), what, "a name of the fabric")
            })
        };
        let ends = pairs
            .iter()
            .enumerate()
            .map(|(index, (src, dst))| Ok((find(index, src)?, find(index, dst)?)))
            .collect::<Result<Vec<_>, FabricError>>()?;
        let paths = match engine {
            Some(Engine::Dmodk) => engines::dmodk_paths(&fabric, &ends)?,
            _ => {
                let routes = engines::routes_of(&fabric, &self.written, engine)?;
                let trace = |(src, dst): &(HcaId, HcaId)| routes.trace(&fabric, *src, *dst);
                ends.iter().map(trace).collect::<Result<_, _>>()?
            }
        };
        let name =
            |path: Vec<PortId>| path.into_iter().map(|port| fabric.port_name(port)).collect();
        Ok(paths.into_iter().map(name).collect())
    }
}
