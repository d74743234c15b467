use linfa::Float;
use linfa_nn::distance::Distance;
use ndarray::{Array2, ArrayView, Dimension};

/// A learned distance between rows as they are given, for the indices of linfa-nn.
///
/// Of these, the ball tree and the linear search take any distance. **The k-d tree does not**: it compares coordinates one by one,
/// which is right for distances such as L2 only, and would miss neighbours without a word. Map the rows first (`transform`) and search
/// them by `L2Dist`: these are the same distances, and it is the fastest way.
///
/// ```
/// use linfa_nn::{BallTree, NearestNeighbour, distance::Distance};
/// use lipmetric_linfa::LearnedDistance;
/// use ndarray::array;
/// // The first feature counts twice, the second not at all.
/// let distance = LearnedDistance::new(array![[2.0, 0.0]]);
/// let rows = array![[0.0, 9.0], [1.0, 0.0], [3.0, 0.0]];
/// assert_eq!(distance.distance(rows.row(0), rows.row(1)), 2.0);
/// let index = BallTree::new().from_batch(&rows, distance)?;
/// assert_eq!(index.k_nearest(array![0.4, 0.0].view(), 1).unwrap()[0].1, 0);
/// # Ok::<(), linfa_nn::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedDistance<F> {
    components: Array2<F>,
}

impl<F: Float> LearnedDistance<F> {
    /// The distance of a linear map: the length of what it makes of the difference of two rows.
    #[must_use]
    pub fn new(components: Array2<F>) -> Self {
        Self { components: components.as_standard_layout().into_owned() }
    }

    /// The map, a row for each direction.
    #[must_use]
    pub fn components(&self) -> &Array2<F> {
        &self.components
    }
}

impl<F: Float> Distance<F> for LearnedDistance<F> {
    fn distance<D: Dimension>(&self, a: ArrayView<'_, F, D>, b: ArrayView<'_, F, D>) -> F {
        self.rdistance(a, b).sqrt()
    }

    fn rdistance<D: Dimension>(&self, a: ArrayView<'_, F, D>, b: ArrayView<'_, F, D>) -> F {
        let features = self.components.ncols();
        assert!(a.len() == features && b.len() == features, "the points must have {features} features");
        let difference: Vec<F> = a.iter().zip(b.iter()).map(|(a, b)| *a - *b).collect();
        let along = |direction: ndarray::ArrayView1<'_, F>| -> F {
            let length: F = direction.iter().zip(&difference).map(|(c, d)| *c * *d).sum();
            length * length
        };
        self.components.rows().into_iter().map(along).sum()
    }

    fn rdist_to_dist(&self, rdist: F) -> F {
        rdist.sqrt()
    }

    fn dist_to_rdist(&self, dist: F) -> F {
        dist * dist
    }
}
