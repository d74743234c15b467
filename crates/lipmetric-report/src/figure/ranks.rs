use super::frame::{Frame, line, text, wide};
use super::{Figure, Table};
use crate::number::short;
use crate::scale::Scale;

/// The critical-difference diagram: methods on a line of average ranks, the best on the left; bars join those that cannot be told
/// apart.
pub(crate) fn ranks(figure: Figure, methods: &[String], average: &[f64], difference: f64) -> Figure {
    let k = methods.len();
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by(|&a, &b| average[a].total_cmp(&average[b]).then(a.cmp(&b)));
    let groups = groups(&order, average, difference);
    let widest = methods.iter().map(|m| wide(m)).fold(0.0, f64::max) + 48.0;
    let side = widest.min(0.3 * figure.width);
    let half = k.div_ceil(2);
    let line_y = 62.0;
    let first = line_y + 18.0 + 9.0 * groups.len() as f64;
    let mut figure = figure;
    figure.height = first + 20.0 * half as f64 + 10.0;
    let frame = Frame { left: side, right: figure.width - side, top: line_y, bottom: line_y };
    let scale = Scale::linear((1.0, (k as f64).max(2.0)), frame.x());
    figure.content.push(line("rule", [((frame.left, line_y), (frame.right, line_y))]));
    for rank in 1..=k.max(2) {
        let x = scale.at(rank as f64);
        figure.content.push(line("rule", [((x, line_y - 5.0), (x, line_y))]));
        figure.content.push(text(&rank.to_string(), x, line_y - 10.0, "mid"));
    }
    let reach = scale.at(1.0 + difference).min(frame.right);
    let ends =
        [((frame.left, 22.0), (reach, 22.0)), ((frame.left, 18.0), (frame.left, 26.0)), ((reach, 18.0), (reach, 26.0))];
    figure.content.push(line("rule", ends));
    figure.content.push(text(&format!("critical difference {}", short(difference)), frame.left, 12.0, "strong"));
    for (place, &m) in order.iter().enumerate() {
        let (x, on_left) = (scale.at(average[m]), place < half);
        let row = if on_left { place } else { k - 1 - place };
        let y = first + 20.0 * row as f64;
        let to = if on_left { frame.left - 10.0 } else { frame.right + 10.0 };
        figure.content.push(line("axis", [((x, line_y), (x, y)), ((x, y), (to, y))]));
        let shown = format!("{} {}", methods[m], short(average[m]));
        let (class, at) = if on_left { ("end strong", to - 4.0) } else { ("strong", to + 4.0) };
        figure.content.push(super::frame::label(&shown, side - 14.0, (at, y + 4.0), class));
    }
    for (level, (from, to)) in groups.iter().enumerate() {
        let y = line_y + 9.0 + 9.0 * level as f64;
        let ends = ((scale.at(average[*from]) - 3.0, y), (scale.at(average[*to]) + 3.0, y));
        figure.content.push(line("clique", [ends]));
    }
    let mut table = Table::new(["method", "average rank"]);
    for &m in &order {
        table.row([methods[m].clone(), format!("{:.2}", average[m])]);
    }
    figure.table = Some(table);
    figure
}

/// The largest groups of neighbouring methods within the difference, two or more.
fn groups(order: &[usize], average: &[f64], difference: f64) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    let mut reached = 0;
    for (a, &first) in order.iter().enumerate() {
        let b = order.iter().rposition(|&m| average[m] - average[first] <= difference).unwrap_or(a);
        if b > a && (out.is_empty() || b > reached) {
            out.push((first, order[b]));
            reached = b;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn groups_are_the_largest_that_cannot_be_told_apart() {
        let average = [1.0, 2.0, 2.5, 4.0];
        assert_eq!(groups(&[0, 1, 2, 3], &average, 1.6), [(0, 2), (2, 3)]);
        assert_eq!(groups(&[0, 1, 2, 3], &average, 0.2), []);
        assert_eq!(groups(&[0, 1, 2, 3], &average, 5.0), [(0, 3)]);
    }
}
