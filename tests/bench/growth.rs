//! How cost grows with the documents of a release, as a table and a plot.

use plotters::prelude::*;

use crate::record;
use crate::{Guests, count_ratio, grouped, table};

const SIZES: [usize; 5] = [1, 10, 100, 1_000, 5_000];

/// In a release of which some hook needs that many other objects, all manifests are read and not only the hooks'.
const NAMES: usize = 60;

/// A number of documents, with the fuel for a release whose hooks name few objects and for one whose hooks name many.
struct Point {
    documents: usize,
    few: u64,
    many: u64,
    floor: u64,
}

/// The measured points, from small to large.
pub(crate) struct Growth(Vec<Point>);

impl Growth {
    pub(crate) fn measure(guests: &Guests) -> Self {
        let point = |documents| {
            let fuel = |names| {
                let record = record::naming(documents, names);
                (guests.policy.metered.cost("validate", &record.payload()).accepted().fuel, record.gzip)
            };
            let ((few, gzip), (many, _)) = (fuel(0), fuel(NAMES));
            Point { documents, few, many, floor: guests.floor.metered.cost("inflate", &gzip).fuel }
        };
        Self(SIZES.map(point).into())
    }

    pub(crate) fn section(&self) -> String {
        let per_document = |fuel: u64, point: &Point| grouped(fuel / point.documents as u64);
        let row = |point: &Point| {
            [
                grouped(point.documents),
                grouped(point.few),
                per_document(point.few, point),
                format!("{:.2}", count_ratio(point.few, point.floor)),
                grouped(point.many),
                per_document(point.many, point),
            ]
        };
        let rows: Vec<_> = self.0.iter().map(row).collect();
        let header = ["documents", "fuel", "a document", "fuel / floor", "fuel, hooks that name many", "a document"];
        format!(
            "## Cost against size\n\nFrom a hundred documents on, a document costs about the same; a test holds it \
             within a tenth.\n\n![Fuel against the number of documents](growth.svg)\n\n{}\n*Hooks that name many*: a hook refers to \
             {NAMES} other objects; above 50 the whole release is read instead of searched.\n",
            table(header, &rows)
        )
    }

    /// Both axes are logarithmic: a straight line of slope 1 is linear growth.
    pub(crate) fn plot(&self) -> String {
        let mut svg = String::new();
        self.draw(&mut svg).expect("a plot in memory can be drawn");
        svg
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let root = SVGBackend::with_string(svg, (720, 420)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption("Fuel for judging a release", ("sans-serif", 18))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(74)
            .build_cartesian_2d((1.0..10_000.0f64).log_scale(), (1e5..1e10f64).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("documents in the release")
            .y_desc("wasmtime fuel")
            .x_label_formatter(&|value| format!("{value:.0}"))
            .y_label_formatter(&|value| format!("{value:.0e}"))
            .draw()?;
        let line = |fuel: fn(&Point) -> u64| -> Vec<_> {
            self.0.iter().map(|point| (point.documents as f64, fuel(point) as f64)).collect()
        };
        for (name, color, points) in [
            ("hooks that name many objects", RGBColor(200, 70, 40), line(|point| point.many)),
            ("hooks that name few", RGBColor(30, 90, 180), line(|point| point.few)),
            ("the floor: only inflating", RGBColor(120, 120, 120), line(|point| point.floor)),
        ] {
            chart
                .draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))?
                .label(name)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], color.stroke_width(2)));
        }
        chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).border_style(BLACK).draw()?;
        root.present()?;
        Ok(())
    }
}
