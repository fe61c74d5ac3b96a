//! Selects the rows and columns that a kernel visits; the others cannot change the result.
//!
//! Before the main kernel, another kernel counts these rows and columns and moves their indices to the front, without
//! changing their order. No kernel needs to sort, or to add numbers atomically. Wherever a list has padding, the same
//! terms are added in the same order, so the results are bit-identical. Skipped documents do not matter, even if their
//! scores are NaN.

use super::*;

/// Where the indices of the rows and columns of a list are stored in `order`, and how many of them are visited.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct Members {
    /// The index in `order` of the first row.
    rows: usize,
    /// The number of rows to visit.
    row_count: usize,
    /// The index in `order` of the first column.
    columns: usize,
    /// The number of columns to visit.
    column_count: usize,
}

/// Returns which documents of a list are visited; `order` is the output of [`order`].
#[cube]
fn members(order: &[u32], list: usize, documents: usize) -> Members {
    let rows = list * 2 * (documents + 1);
    let columns = rows + documents + 1;
    Members {
        rows,
        row_count: order[rows + documents] as usize,
        columns,
        column_count: order[columns + documents] as usize,
    }
}

/// The row that a unit computes, and the columns with which it is paired.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Row {
    /// The index of the row within the batch.
    pub cell: usize,
    /// The score of the row.
    pub x: f32,
    /// Whether the row is visited; the others have no result.
    pub counts: bool,
    /// The index in `order` of the first column.
    pub columns: usize,
    /// The number of columns of the list.
    pub column_count: usize,
    /// The number of columns that the rows of the cube visit. This number is the same for all units of a cube, because
    /// they wait for each other.
    pub visited: usize,
}

/// Returns the row at a place; `order` is the output of [`order`].
#[cube]
pub(super) fn row(x: &[f32], order: &[u32], place: Place, documents: usize) -> Row {
    let members = members(order, place.list / documents, documents);
    let cell = place.list + order[members.rows + place.row] as usize;
    let any = place.list_exists && place.first_row < members.row_count;
    Row {
        cell,
        x: x[cell],
        counts: place.row < members.row_count,
        columns: members.columns,
        column_count: members.column_count,
        visited: select(any, members.column_count, 0usize),
    }
}

/// Which documents are visited as rows and as columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Rule {
    /// One tensor selects the rows, and the other tensor selects the columns.
    Separately,
    /// Documents selected by at least one of the tensors are both rows and columns.
    Either,
    /// The second tensor selects the columns, and every document is a row.
    Columns,
}

/// Returns whether a document is visited as a row.
#[cube]
fn is_row(of_rows: &[f32], of_columns: &[f32], cell: usize, #[comptime] rule: Rule) -> bool {
    match rule {
        Rule::Separately => is_counted(of_rows[cell]),
        Rule::Either => is_counted(of_rows[cell]) || is_counted(of_columns[cell]),
        Rule::Columns => true.runtime(),
    }
}

/// Returns whether a document is visited as a column.
#[cube]
fn is_column(of_rows: &[f32], of_columns: &[f32], cell: usize, #[comptime] rule: Rule) -> bool {
    match rule {
        Rule::Either => is_counted(of_rows[cell]) || is_counted(of_columns[cell]),
        Rule::Separately | Rule::Columns => is_counted(of_columns[cell]),
    }
}

/// Writes the indices of all documents of each list, starting with the rows. Also writes the number of rows. The
/// indices and the number of the columns follow in the same way. One cube per list.
#[cube(launch)]
fn partition(
    of_rows: &[f32],
    of_columns: &[f32],
    order: &mut [u32],
    lists: usize,
    documents: usize,
    #[comptime] rule: Rule,
) {
    let mut shared_rows = Shared::<[u32]>::new_slice(UNITS);
    let mut shared_columns = Shared::<[u32]>::new_slice(UNITS);
    let list = min(CUBE_POS, lists - 1);
    let unit = UNIT_POS as usize;
    let share = documents.div_ceil(UNITS);
    let first = min(unit * share, documents);
    let last = min(first + share, documents);
    let cells = list * documents;
    let mut rows = 0u32;
    let mut columns = 0u32;
    for document in first..last {
        rows += select(is_row(of_rows, of_columns, cells + document, rule), 1u32, 0u32);
        columns += select(is_column(of_rows, of_columns, cells + document, rule), 1u32, 0u32);
    }
    shared_rows[unit] = rows;
    shared_columns[unit] = columns;
    sync_cube();
    let mut next_row = 0u32;
    let mut next_column = 0u32;
    let mut all_rows = 0u32;
    let mut all_columns = 0u32;
    for other in 0..UNITS {
        next_row += select(other < unit, shared_rows[other], 0u32);
        next_column += select(other < unit, shared_columns[other], 0u32);
        all_rows += shared_rows[other];
        all_columns += shared_columns[other];
    }
    let start_of_rows = list * 2 * (documents + 1);
    let start_of_columns = start_of_rows + documents + 1;
    let before = u32::cast_from(first);
    // The documents that do not count follow.
    let mut other_row = all_rows + before - next_row;
    let mut other_column = all_columns + before - next_column;
    for document in first..last {
        let entry = u32::cast_from(document);
        if is_row(of_rows, of_columns, cells + document, rule) {
            order[start_of_rows + next_row as usize] = entry;
            next_row += 1u32;
        } else {
            order[start_of_rows + other_row as usize] = entry;
            other_row += 1u32;
        }
        if is_column(of_rows, of_columns, cells + document, rule) {
            order[start_of_columns + next_column as usize] = entry;
            next_column += 1u32;
        } else {
            order[start_of_columns + other_column as usize] = entry;
            other_column += 1u32;
        }
    }
    if unit == 0 {
        order[start_of_rows + documents] = all_rows;
        order[start_of_columns + documents] = all_columns;
    }
}

/// Returns the indices of the rows and columns of each list, for [`row`] to read. The two tensors select documents
/// by their nonzero values.
pub(super) fn order(batch: &Batch, rule: Rule, rows: &CubeTensor, columns: &CubeTensor) -> CubeTensor {
    let order = batch.indices(2 * (batch.documents + 1));
    start!(batch.cubes_for(batch.lists), partition::launch, [rows, columns], [&order], rule);
    order
}

/// Sums one column of a tile in shared memory over the rows of a cube. With `is_first`, the sum overwrites
/// `partials[entry]`; otherwise, the sum is added to this entry.
#[cube]
pub(super) fn send(tile: &Shared<[f32]>, column: usize, partials: &mut [f32], entry: usize, is_first: bool) {
    let mut sum = 0.0f32;
    for lane in 0..ROWS {
        sum += tile[column * STRIDE + lane];
    }
    if is_first {
        partials[entry] = sum;
    } else {
        partials[entry] += sum;
    }
}

/// For each column of a list, adds the gradients that several cubes computed, in the order of the cubes. In `partials`,
/// each cube has `sums` numbers for each column. The cubes of a list may be launched in several parts; later parts add
/// to the result of the first. One unit per column.
#[cube(launch)]
fn collect(
    partials: &[f32],
    order: &[u32],
    to_columns: &mut [f32],
    first: usize,
    cubes: usize,
    sums: usize,
    first_list: usize,
    lists: usize,
    documents: usize,
) {
    let cell = ABSOLUTE_POS;
    if cell < lists * documents {
        let list = first_list + cell / documents;
        let column = cell % documents;
        let members = members(order, list, documents);
        let document = list * documents + order[members.columns + column] as usize;
        let first_cube = list * documents.div_ceil(ROWS);
        let begin = max(first_cube, first);
        let end = min(first_cube + members.row_count.div_ceil(ROWS), first + cubes);
        let mut sum = 0.0f32;
        if column < members.column_count {
            if first_cube < first {
                sum = to_columns[document];
            }
            for cube in begin..end {
                for of_cube in 0..sums {
                    sum += partials[((cube - first) * sums + of_cube) * documents + column];
                }
            }
        }
        to_columns[document] = sum;
    }
}

/// Launches [`collect`] for one part of the cubes.
pub(super) fn collect_columns(
    batch: &Batch,
    part: Part,
    sums: usize,
    partials: &CubeTensor,
    order: &CubeTensor,
    to_columns: &CubeTensor,
) {
    let tiles = batch.tiles();
    let first_list = part.first / tiles;
    let lists = (part.first + part.cubes - 1) / tiles - first_list + 1;
    start!(batch.cubes_for((lists * batch.documents).div_ceil(UNITS)), collect::launch, [partials, order], [to_columns];
        part.first, part.cubes, sums, first_list, lists, batch.documents);
}
