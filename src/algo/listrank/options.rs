//! The options of `[listrank]`.

use crate::jobfile::{Diagnostics, Section};
use serde::{Deserialize, Serialize};

/// List ranking: how to rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRank {
    /// The method. Ranks are the same by all.
    pub method: Method,
    /// The end that ranks are counted from.
    pub order: Order,
}

impl ListRank {
    /// Reads the table.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<ListRank> {
        let methods = Method::ALL.map(|method| (method.name(), method));
        let orders = [("successors", Order::Successors), ("from-head", Order::FromHead)];
        let method = table.get("method").map_or(Some(Method::Auto), |field| field.choice(&methods, diagnostics));
        let order = table.get("order").map_or(Some(Order::Successors), |field| field.choice(&orders, diagnostics));
        Some(ListRank { method: method?, order: order? })
    }
}

/// A method of ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The fastest for length and device.
    Auto,
    /// One thread follows the list.
    Serial,
    /// Pointer jumping (Wyllie 1979).
    Wyllie,
    /// Sublists between splitters, and a list of those (Helman and JáJá 1999; Wei and JáJá 2010).
    RulingSet,
}

impl Method {
    const ALL: [Method; 4] = [Method::Auto, Method::Serial, Method::Wyllie, Method::RulingSet];

    /// Returns the method that a CPU ranks a list of `length` elements by.
    pub fn on_cpu(self, length: u64) -> Method {
        // Below, starting threads takes longer than following the list.
        const FEW: u64 = 1 << 14;
        match self {
            Method::Auto if length < FEW => Method::Serial,
            Method::Auto => Method::RulingSet,
            named => named,
        }
    }

    /// Returns its name in job files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Serial => "serial",
            Method::Wyllie => "wyllie",
            Method::RulingSet => "ruling-set",
        }
    }
}

/// The end of the list that ranks are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// A rank is the number of elements behind: 0 at the tail.
    Successors,
    /// A rank is the number of elements before: 0 at the head.
    FromHead,
}
