//! Quantities and versions.

use std::cmp::Ordering;

use cel::common::types::{CelBool, CelDouble, CelInt, INT_TYPE, STRING_TYPE};
use cel::{DeclarationError, Env};
use firstpass_object::quantity::Quantity;

use super::{argument, fail, owned, text};
use crate::cel::values::{Amount, QUANTITY, SEMVER, Semver};

pub(super) fn kubernetes(env: &mut Env) -> Result<(), DeclarationError> {
    quantities(env)?;
    versions(env)
}

fn quantities(env: &mut Env) -> Result<(), DeclarationError> {
    let string = || STRING_TYPE.to_owned();
    let quantity = || QUANTITY.to_owned();
    env.add_type(quantity())?;
    env.add_overload(
        "quantity",
        "string_to_quantity",
        vec![string()],
        |args| match Quantity::parse(text(&args, 0)?) {
            Ok(quantity) => owned(Amount(quantity)),
            Err(_) => fail("quantity", Quantity::FORM),
        },
    )?;
    env.add_overload("isQuantity", "is_quantity_string", vec![string()], |args| {
        owned(CelBool::from(Quantity::parse(text(&args, 0)?).is_ok()))
    })?;
    env.add_member_overload("sign", "quantity_sign", quantity(), vec![], |args| {
        owned(CelInt::from(sign(argument::<Amount>(&args, 0)?.0.sign())))
    })?;
    env.add_member_overload("isInteger", "quantity_is_integer", quantity(), vec![], |args| {
        owned(CelBool::from(argument::<Amount>(&args, 0)?.0.is_whole()))
    })?;
    env.add_member_overload("asInteger", "quantity_get_int", quantity(), vec![], |args| {
        let quantity = argument::<Amount>(&args, 0)?.0;
        match i64::try_from(quantity.ceil())
            .ok()
            .filter(|_| quantity.is_whole())
        {
            Some(whole) => owned(CelInt::from(whole)),
            None => fail("asInteger", "cannot convert value to integer"),
        }
    })?;
    env.add_member_overload(
        "asApproximateFloat",
        "quantity_get_float",
        quantity(),
        vec![],
        |args| owned(CelDouble::from(argument::<Amount>(&args, 0)?.0.to_f64())),
    )?;
    env.add_member_overload(
        "compareTo",
        "quantity_compare_to",
        quantity(),
        vec![quantity()],
        |args| {
            let (left, right) = (argument::<Amount>(&args, 0)?, argument::<Amount>(&args, 1)?);
            owned(CelInt::from(sign(left.0.cmp(&right.0))))
        },
    )?;
    env.add_member_overload(
        "isGreaterThan",
        "quantity_is_greater_than",
        quantity(),
        vec![quantity()],
        |args| {
            owned(CelBool::from(
                argument::<Amount>(&args, 0)?.0 > argument::<Amount>(&args, 1)?.0,
            ))
        },
    )?;
    env.add_member_overload(
        "isLessThan",
        "quantity_is_less_than",
        quantity(),
        vec![quantity()],
        |args| {
            owned(CelBool::from(
                argument::<Amount>(&args, 0)?.0 < argument::<Amount>(&args, 1)?.0,
            ))
        },
    )?;
    env.add_member_overload("add", "quantity_add", quantity(), vec![quantity()], |args| {
        let sum = argument::<Amount>(&args, 0)?
            .0
            .plus(argument::<Amount>(&args, 1)?.0);
        owned(Amount(sum))
    })?;
    env.add_member_overload(
        "add",
        "quantity_add_int",
        quantity(),
        vec![INT_TYPE.to_owned()],
        |args| {
            let whole = Quantity::from(*argument::<CelInt>(&args, 1)?.inner());
            owned(Amount(argument::<Amount>(&args, 0)?.0.plus(whole)))
        },
    )?;
    env.add_member_overload("sub", "quantity_sub", quantity(), vec![quantity()], |args| {
        let difference = argument::<Amount>(&args, 0)?
            .0
            .minus(argument::<Amount>(&args, 1)?.0);
        owned(Amount(difference))
    })?;
    env.add_member_overload(
        "sub",
        "quantity_sub_int",
        quantity(),
        vec![INT_TYPE.to_owned()],
        |args| {
            let whole = Quantity::from(*argument::<CelInt>(&args, 1)?.inner());
            owned(Amount(argument::<Amount>(&args, 0)?.0.minus(whole)))
        },
    )
}

fn versions(env: &mut Env) -> Result<(), DeclarationError> {
    let string = || STRING_TYPE.to_owned();
    let semver = || SEMVER.to_owned();
    env.add_type(semver())?;
    env.add_overload(
        "semver",
        "string_to_semver",
        vec![string()],
        |args| match Semver::parse(text(&args, 0)?) {
            Some(version) => owned(version),
            None => fail("semver", "no version"),
        },
    )?;
    env.add_overload("isSemver", "is_semver_string", vec![string()], |args| {
        owned(CelBool::from(Semver::parse(text(&args, 0)?).is_some()))
    })?;
    macro_rules! comparisons {
        ($($name:literal => $wanted:expr),*) => {
            $(
                env.add_member_overload($name, concat!("semver_", $name), semver(), vec![semver()], |args| {
                    let order = argument::<Semver>(&args, 0)?.compare(argument::<Semver>(&args, 1)?);
                    owned(CelBool::from(order == $wanted))
                })?;
            )*
        };
    }
    comparisons! { "isGreaterThan" => Ordering::Greater, "isLessThan" => Ordering::Less }
    env.add_member_overload(
        "compareTo",
        "semver_compare_to",
        semver(),
        vec![semver()],
        |args| {
            let order = argument::<Semver>(&args, 0)?.compare(argument::<Semver>(&args, 1)?);
            owned(CelInt::from(sign(order)))
        },
    )?;
    macro_rules! parts {
        ($($name:literal => $part:tt),*) => {
            $(
                env.add_member_overload($name, concat!("semver_", $name), semver(), vec![], |args| {
                    let part = argument::<Semver>(&args, 0)?.$part;
                    owned(CelInt::from(i64::try_from(part).unwrap_or(i64::MAX)))
                })?;
            )*
        };
    }
    parts! { "major" => 0, "minor" => 1, "patch" => 2 }
    Ok(())
}

fn sign(order: Ordering) -> i64 {
    match order {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}
