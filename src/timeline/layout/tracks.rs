//! Lines that run beside each other: each has a track of its own where they share a row.

/// A track for each span of rows; spans that do not touch share one, and the shortest are nearest.
pub(crate) fn tracks(spans: &[(usize, usize)]) -> Vec<usize> {
    let mut order: Vec<_> = spans.iter().map(|(a, b)| (*a.min(b), *a.max(b))).enumerate().collect();
    order.sort_by_key(|(place, (top, bottom))| (bottom - top, *top, *place));
    let mut taken: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut tracks = vec![0; spans.len()];
    for (place, (top, bottom)) in order {
        let is_free = |spans: &Vec<(usize, usize)>| spans.iter().all(|span| bottom < span.0 || span.1 < top);
        let track = taken.iter().position(is_free).unwrap_or(taken.len());
        if track == taken.len() {
            taken.push(Vec::new());
        }
        if let (Some(spans), Some(found)) = (taken.get_mut(track), tracks.get_mut(place)) {
            spans.push((top, bottom));
            *found = track;
        }
    }
    tracks
}

#[cfg(test)]
mod tests {
    use super::tracks;

    #[test]
    fn lines_that_share_a_row_have_tracks_of_their_own() {
        assert_eq!(tracks(&[(0, 3), (1, 2), (4, 6), (3, 4)]), [1, 0, 1, 0]);
        assert_eq!(tracks(&[(5, 1), (1, 5)]), [0, 1]);
        assert!(tracks(&[]).is_empty());
    }
}
