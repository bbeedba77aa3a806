//! The options in the job table `[listrank]`.

use crate::jobfile::{AnyKey, Key};
use serde::{Deserialize, Serialize};

/// Options of list ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRank {
    /// The ranking method. All methods compute the same ranks.
    pub method: Method,
    /// The end of the list from which ranks are counted.
    pub order: RankOrder,
}

/// The key `method` of the table `[listrank]`.
pub(super) const METHOD: Key<Method> =
    Key::choice("method", &METHODS, "the method; all find the same ranks, and auto is the fastest");

/// The key `order` of the table `[listrank]`.
pub(super) const ORDER: Key<RankOrder> = Key::choice(
    "order",
    &[("successors", RankOrder::Successors), ("from-head", RankOrder::FromHead)],
    "a rank is the number of elements behind (`successors`) or before (`from-head`)",
);

/// All keys of the table `[listrank]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&METHOD, &ORDER];

/// A method of list ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The fastest method for the length of the list and the device.
    #[default]
    Auto,
    /// Serial: one thread follows the list.
    Serial,
    /// Pointer jumping (Wyllie 1979).
    Wyllie,
    /// Ruling sets: threads walk sublists, and the list of sublists is ranked (Helman and JáJá 1999; Wei and JáJá
    /// 2010).
    RulingSet,
}

/// All methods with their names in job files and reports.
const METHODS: [(&str, Method); 4] =
    [("auto", Method::Auto), ("serial", Method::Serial), ("wyllie", Method::Wyllie), ("ruling-set", Method::RulingSet)];

impl Method {
    /// Returns the method that ranks a list of `length` elements on CPUs. [`Method::Auto`] is replaced by another
    /// method.
    pub(crate) fn on_cpu(self, length: u64) -> Method {
        // For shorter lists, starting threads takes longer than ranking on one thread.
        const FEW: u64 = 1 << 14;
        match self {
            Method::Auto if length < FEW => Method::Serial,
            Method::Auto => Method::RulingSet,
            named => named,
        }
    }

    /// Returns the method's name in job files and reports.
    pub(crate) fn name(self) -> &'static str {
        METHODS.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// The end of the list from which ranks are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankOrder {
    /// From the tail: the rank of an element is the number of elements after it.
    #[default]
    Successors,
    /// From the head: the rank of an element is the number of elements before it.
    FromHead,
}
