//! The macro `json!`, which writes a value in the notation of JSON.

/// Creates a [`Value`] in the notation of JSON, as serde_json's `json!` does. For example, `json!([1, null, x + 1])`
/// creates a list.
#[doc(hidden)]
#[macro_export]
macro_rules! __json {
    (@items $items:ident) => {};
    (@items $items:ident null $(, $($rest:tt)*)?) => {
        $items.push($crate::json::Value::Null);
        $crate::__json!(@items $items $($($rest)*)?);
    };
    (@items $items:ident [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $items.push($crate::__json!([$($inner)*]));
        $crate::__json!(@items $items $($($rest)*)?);
    };
    (@items $items:ident {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $items.push($crate::__json!({$($inner)*}));
        $crate::__json!(@items $items $($($rest)*)?);
    };
    (@items $items:ident $item:expr $(, $($rest:tt)*)?) => {
        $items.push($crate::__json!($item));
        $crate::__json!(@items $items $($($rest)*)?);
    };
    (@fields $fields:ident) => {};
    (@fields $fields:ident $key:literal : null $(, $($rest:tt)*)?) => {
        $fields.insert($key.to_string(), $crate::json::Value::Null);
        $crate::__json!(@fields $fields $($($rest)*)?);
    };
    (@fields $fields:ident $key:literal : [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $fields.insert($key.to_string(), $crate::__json!([$($inner)*]));
        $crate::__json!(@fields $fields $($($rest)*)?);
    };
    (@fields $fields:ident $key:literal : {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $fields.insert($key.to_string(), $crate::__json!({$($inner)*}));
        $crate::__json!(@fields $fields $($($rest)*)?);
    };
    (@fields $fields:ident $key:literal : $value:expr $(, $($rest:tt)*)?) => {
        $fields.insert($key.to_string(), $crate::__json!($value));
        $crate::__json!(@fields $fields $($($rest)*)?);
    };
    (null) => { $crate::json::Value::Null };
    ([$($items:tt)*]) => {{
        #[allow(unused_mut)]
        let mut items: Vec<$crate::json::Value> = Vec::from([]);
        $crate::__json!(@items items $($items)*);
        $crate::json::Value::Array(items)
    }};
    ({$($fields:tt)*}) => {{
        #[allow(unused_mut)]
        let mut fields = $crate::json::Map::new();
        $crate::__json!(@fields fields $($fields)*);
        $crate::json::Value::Object(fields)
    }};
    ($value:expr) => { $crate::json::to_value(&$value).expect("plain values") };
}
#[cfg_attr(not(any(feature = "ranker", test)), allow(unused_imports))]
pub(crate) use __json as json;

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn the_macro_writes_json() {
        let x = 2.5;
        let value = json!({"b": {"c": null, "a": []}, "a": [-1, [x * 2.0], {"z": true}, "t",], "n": Some(3), });
        assert_eq!(value.to_string(), r#"{"b":{"c":null,"a":[]},"a":[-1,[5.0],{"z":true},"t"],"n":3}"#);
        assert_eq!(
            (value["b"]["c"].is_null(), value["a"][0].as_f64(), value["n"].as_u64()),
            (true, Some(-1.0), Some(3))
        );
        assert!(value["absent"]["below"][3].is_null());
    }
}
