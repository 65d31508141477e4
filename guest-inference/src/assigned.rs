//! Which execution provider executes which part of a model, as the runtime itself recorded it.

use std::{
    collections::BTreeMap,
    ffi::{CStr, c_char},
    ptr, slice,
};

use anyhow::{Context, Result, ensure};
use mthp_record::workload::{Assigned, PROVIDER};
use ort::{
    AsPointer,
    session::Session,
    sys::{OrtEpAssignedNode, OrtEpAssignedSubgraph},
};

/// The providers of a session's nodes, by name.
///
/// The session must have been created with `session.record_ep_graph_assignment_info`.
///
/// # Errors
/// When the runtime does not tell.
pub fn assigned(session: &Session) -> Result<Vec<Assigned>> {
    let mut nodes: BTreeMap<String, u32> = BTreeMap::new();
    for subgraph in subgraphs(session).context("failed to ask who executes the model")? {
        let (provider, count) =
            subgraph_of(*subgraph).context("failed to ask who executes a part of the model")?;
        let sum = nodes.entry(provider).or_default();
        *sum = sum.saturating_add(count);
    }
    Ok(nodes.into_iter().map(|(provider, nodes)| Assigned { provider, nodes }).collect())
}

/// Makes sure that [`PROVIDER`] executes all nodes, at least one.
///
/// # Errors
/// When it does not.
pub fn check(assigned: &[Assigned]) -> Result<()> {
    for Assigned { provider, nodes } in assigned {
        ensure!(
            provider == PROVIDER,
            "failed to execute all by {PROVIDER}: {provider} executes {nodes} nodes"
        );
    }
    ensure!(
        assigned.iter().any(|share| share.nodes > 0),
        "failed to execute anything by {PROVIDER}: no node is assigned to it"
    );
    Ok(())
}

fn subgraphs(session: &Session) -> Result<&[*const OrtEpAssignedSubgraph]> {
    let mut list: *const *const OrtEpAssignedSubgraph = ptr::null();
    let mut length = 0;
    // SAFETY: the session is alive and both results outlive the call.
    let status =
        unsafe { (ort::api().Session_GetEpGraphAssignmentInfo)(session.ptr(), &mut list, &mut length) };
    // SAFETY: the status is fresh and given away.
    unsafe { ort::Error::result_from_status(status) }?;
    // SAFETY: the C API promises an array of this length that the session owns.
    Ok(unsafe { array(list, length) })
}

fn subgraph_of(subgraph: *const OrtEpAssignedSubgraph) -> Result<(String, u32)> {
    let api = ort::api();
    let mut name: *const c_char = ptr::null();
    // SAFETY: the subgraph is one of a session that is alive, and the result outlives the call.
    let status = unsafe { (api.EpAssignedSubgraph_GetEpName)(subgraph, &mut name) };
    // SAFETY: the status is fresh and given away.
    unsafe { ort::Error::result_from_status(status) }?;
    ensure!(!name.is_null(), "it has no name");
    // SAFETY: the C API promises a string that ends with zero and that the session owns.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();

    let mut nodes: *const *const OrtEpAssignedNode = ptr::null();
    let mut length = 0;
    // SAFETY: as above.
    let status = unsafe { (api.EpAssignedSubgraph_GetNodes)(subgraph, &mut nodes, &mut length) };
    // SAFETY: the status is fresh and given away.
    unsafe { ort::Error::result_from_status(status) }?;
    Ok((name, u32::try_from(length)?))
}

/// A C array, which may be null when it is empty.
///
/// # Safety
/// Other than that it must be valid for `'a`.
unsafe fn array<'a, T>(start: *const T, length: usize) -> &'a [T] {
    if start.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(start, length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_provider_may_execute_and_it_must() {
        let share = |provider: &str, nodes| Assigned { provider: provider.into(), nodes };
        let other = share("CPUExecutionProvider", 1);
        let cases = [
            (vec![share(PROVIDER, 236)], None),
            (vec![], Some("no node is assigned")),
            (vec![share(PROVIDER, 0)], Some("no node is assigned")),
            (vec![share(PROVIDER, 235), other.clone()], Some("CPUExecutionProvider executes 1 nodes")),
            (vec![other], Some("CPUExecutionProvider executes 1 nodes")),
        ];
        for (assigned, part) in cases {
            let error = check(&assigned).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), part.is_some(), "{assigned:?}");
            if let (Some(error), Some(part)) = (error, part) {
                assert!(error.contains(part) && error.contains(PROVIDER), "{error}");
            }
        }
    }
}
