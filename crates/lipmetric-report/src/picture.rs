//! Figures as files: SVG, or PNG where this crate is built with the feature `png`.

use std::fmt;
use std::str::FromStr;

/// How a figure is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Picture {
    /// Sharp at any size, as text.
    #[default]
    Svg,
    /// Pixels, two for each unit of the figure.
    Png,
}

/// Why a figure could not be drawn as pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PictureError {
    /// PNG was left out when this crate was built.
    NoPng,
    /// The figure could not be drawn.
    Failed(String),
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPng => {
                write!(
                    f,
                    "PNG pictures were left out when this was built: ask for SVG, or build with the feature `png`"
                )
            }
            Self::Failed(why) => write!(f, "a picture cannot be drawn as PNG: {why}"),
        }
    }
}

impl std::error::Error for PictureError {}

impl FromStr for Picture {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err(format!("`{name}` is no kind of picture: give `svg` or `png`")),
        }
    }
}

impl Picture {
    /// The end of a file's name.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }

    /// Finds out before the work whether pictures of this kind can be made.
    ///
    /// # Errors
    /// For PNG without the feature `png`.
    pub fn check(self) -> Result<(), PictureError> {
        if self == Self::Png && !cfg!(feature = "png") { Err(PictureError::NoPng) } else { Ok(()) }
    }

    /// The bytes of a figure's file, from its SVG.
    ///
    /// # Errors
    /// For PNG without the feature `png`, or where the figure cannot be drawn.
    pub fn bytes(self, svg: &str) -> Result<Vec<u8>, PictureError> {
        match self {
            Self::Svg => Ok(svg.as_bytes().to_vec()),
            Self::Png => png(svg),
        }
    }
}

#[cfg(not(feature = "png"))]
fn png(_: &str) -> Result<Vec<u8>, PictureError> {
    Err(PictureError::NoPng)
}

#[cfg(feature = "png")]
use pixels::png;

#[cfg(feature = "png")]
mod pixels {
    use super::PictureError;
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree, fontdb::Database};
    use std::sync::{Arc, LazyLock};

    /// Pixels for each unit of a figure: sharp on paper and on dense screens.
    const SCALE: f32 = 2.0;
    /// The letters of Latin, Greek and Cyrillic (assets/sans-LICENSE.txt); for others the system's fonts are asked.
    const FONT: &[u8] = include_bytes!("../assets/sans.ttf");
    const FAMILY: &str = "DejaVu Sans";

    /// Our own letters first, so that there are some on every machine; others, and bold ones, where the system has them.
    static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
        let mut fonts = Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family(FAMILY);
        fonts.load_system_fonts();
        Arc::new(fonts)
    });

    pub(super) fn png(svg: &str) -> Result<Vec<u8>, PictureError> {
        let failed = |why: String| PictureError::Failed(why);
        let options = Options { fontdb: FONTS.clone(), font_family: FAMILY.to_owned(), ..Options::default() };
        let svg = svg.replace(crate::figure::style::FAMILIES, FAMILY);
        let tree = Tree::from_str(&svg, &options).map_err(|e| failed(e.to_string()))?;
        let (width, height) = (tree.size().width() * SCALE, tree.size().height() * SCALE);
        let mut pixels = Pixmap::new(width.ceil() as u32, height.ceil() as u32)
            .ok_or_else(|| failed(format!("it would have {width} x {height} pixels")))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|e| failed(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names() {
        assert_eq!("png".parse(), Ok(Picture::Png));
        assert!("gif".parse::<Picture>().unwrap_err().contains("give `svg` or `png`"));
        assert_eq!(Picture::Svg.bytes("<svg/>").unwrap(), b"<svg/>");
    }

    #[cfg(not(feature = "png"))]
    #[test]
    fn png_without_its_feature_is_refused_with_the_remedy() {
        assert_eq!(Picture::Png.check(), Err(PictureError::NoPng));
        assert!(Picture::Png.bytes("<svg/>").unwrap_err().to_string().contains("feature `png`"));
    }

    #[cfg(feature = "png")]
    #[test]
    fn pixels_have_the_figure_s_colours_and_its_text() {
        use crate::figure::{Figure, frame::text};
        use crate::markup::el;
        let mut figure = Figure::new("f", "A figure", 40.0, 20.0);
        figure.content.push(el("rect").class("bar c1").at("width", 10.0).at("height", 20.0));
        let blank = Picture::Png.bytes(&figure.file()).unwrap();
        let decoded = resvg::tiny_skia::Pixmap::decode_png(&blank).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (80, 40));
        let at = |x, y| decoded.pixel(x, y).map(|p| (p.red(), p.green(), p.blue()));
        assert_eq!(at(5, 20), Some((0xc4, 0x50, 0x0a)), "the colour of the second class");
        assert_eq!(at(60, 20), Some((255, 255, 255)), "paper");
        figure.content.push(text("Ωж5", 14.0, 14.0, "strong"));
        let written = resvg::tiny_skia::Pixmap::decode_png(&Picture::Png.bytes(&figure.file()).unwrap()).unwrap();
        let dark = |p: &resvg::tiny_skia::Pixmap| p.pixels().iter().filter(|p| p.red() < 80).count();
        assert!(dark(&written) > dark(&decoded) + 40, "letters are drawn");
    }
}
