//! Sets and lists.

use std::cmp::Ordering;

use cel::common::types::{CelBool, CelDouble, CelInt, DYN_TYPE, LIST_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::{Answer, fail, owned};

pub(super) fn sets(env: &mut Env) -> Result<(), DeclarationError> {
    let two = || vec![LIST_TYPE.to_owned(), LIST_TYPE.to_owned()];
    env.add_overload("sets.contains", "list_sets_contains_list", two(), |args| {
        owned(CelBool::from(holds_all(&args, 0, 1)?))
    })?;
    env.add_overload("sets.equivalent", "list_sets_equivalent_list", two(), |args| {
        owned(CelBool::from(holds_all(&args, 0, 1)? && holds_all(&args, 1, 0)?))
    })?;
    env.add_overload("sets.intersects", "list_sets_intersects_list", two(), |args| {
        let (left, right) = (items(&args, 0)?, items(&args, 1)?);
        let meets = left
            .iter()
            .any(|item| right.iter().any(|other| item.equals(*other)));
        owned(CelBool::from(meets))
    })
}

pub(super) fn kubernetes(env: &mut Env) -> Result<(), DeclarationError> {
    let list = || LIST_TYPE.to_owned();
    env.add_member_overload("isSorted", "list_is_sorted_bool", list(), vec![], |args| {
        let items = items(&args, 0)?;
        for pair in items.windows(2) {
            if compare(pair[0], pair[1])? == Ordering::Greater {
                return owned(CelBool::from(false));
            }
        }
        owned(CelBool::from(true))
    })?;
    env.add_member_overload("sum", "list_sum", list(), vec![], sum)?;
    env.add_member_overload("min", "list_min", list(), vec![], |args| {
        extreme(&args, Ordering::Less)
    })?;
    env.add_member_overload("max", "list_max", list(), vec![], |args| {
        extreme(&args, Ordering::Greater)
    })?;
    env.add_member_overload(
        "indexOf",
        "list_index_of",
        list(),
        vec![DYN_TYPE.to_owned()],
        |args| {
            let items = items(&args, 0)?;
            owned(place(items.iter().position(|item| item.equals(&*args[1]))))
        },
    )?;
    env.add_member_overload(
        "lastIndexOf",
        "list_last_index_of",
        list(),
        vec![DYN_TYPE.to_owned()],
        |args| {
            let items = items(&args, 0)?;
            owned(place(items.iter().rposition(|item| item.equals(&*args[1]))))
        },
    )
}

fn items<'b, 'v>(
    args: &'b [CowVal<'b, 'v>],
    index: usize,
) -> Result<Vec<&'b (dyn Val + 'v)>, ExecutionError> {
    let Some(list) = args.get(index).and_then(|list| list.as_iterable()) else {
        return fail("list", "not a list");
    };
    let mut iterator = list.iter();
    let mut items = Vec::new();
    while let Some(item) = iterator.next() {
        items.push(item);
    }
    Ok(items)
}

fn holds_all(args: &[CowVal<'_, '_>], list: usize, wanted: usize) -> Result<bool, ExecutionError> {
    let (list, wanted) = (items(args, list)?, items(args, wanted)?);
    Ok(wanted
        .iter()
        .all(|item| list.iter().any(|present| present.equals(*item))))
}

fn compare(left: &dyn Val, right: &dyn Val) -> Result<Ordering, ExecutionError> {
    match left.as_comparer() {
        Some(left) => left.compare(right),
        None => fail("list", "items cannot be compared"),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the interpreter hands over its arguments"
)]
fn sum<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let items = items(&args, 0)?;
    let wholes: Option<Vec<i64>> = items
        .iter()
        .map(|item| item.downcast_ref::<CelInt>().map(|whole| *whole.inner()))
        .collect();
    if let Some(wholes) = wholes {
        let total = wholes.into_iter().try_fold(0_i64, i64::checked_add);
        return match total {
            Some(total) => owned(CelInt::from(total)),
            None => fail("sum", "integer overflow"),
        };
    }
    let numbers: Option<Vec<f64>> = items
        .iter()
        .map(|item| item.downcast_ref::<CelDouble>().map(|number| *number.inner()))
        .collect();
    match numbers {
        Some(numbers) => owned(CelDouble::from(numbers.into_iter().sum::<f64>())),
        None => fail("sum", "items cannot be added"),
    }
}

fn extreme<'b, 'v>(args: &[CowVal<'b, 'v>], wanted: Ordering) -> Answer<'b, 'v> {
    let items = items(args, 0)?;
    let mut best = match items.first() {
        Some(first) => *first,
        None => return fail("list", "min or max called on an empty list"),
    };
    for item in &items[1..] {
        if compare(*item, best)? == wanted {
            best = *item;
        }
    }
    Ok(CowVal::Owned(best.clone_as_boxed()))
}

fn place(index: Option<usize>) -> CelInt {
    CelInt::from(index.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1))
}
