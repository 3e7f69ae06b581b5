//! The pages: each a struct of what it shows and a `render` function from it to a whole document.

pub mod compare;
pub mod dashboard;
pub mod embed;
pub mod error;
pub mod home;
pub mod hosts;
pub mod plan_form;
pub mod plans;
pub mod report;
pub mod run;
pub mod run_list;
pub mod series;
pub mod series_form;
pub mod sign_in;
pub mod transfer;
pub mod trend;
pub mod trial;

pub use compare::{Align, ComparePage, ComparedRun};
pub use dashboard::DashboardPage;
pub use error::ErrorPage;
pub use home::HomePage;
pub use hosts::{HostCheck, HostPage, HostProof, HostsPage};
pub use plan_form::TestFormPage;
pub use plans::{DeletePage, HistoryEntry, HistoryPage, TestFilter, TestPage, TestRow, TestsPage};
pub use run::{Access, PlanChange, RunPage};
pub use run_list::{RunFilter, RunListPage};
pub use series::{SeriesPage, SeriesRun};
pub use series_form::{SeriesForm, SeriesFormPage, SeriesKind};
pub use sign_in::{SignInPage, SignUpPage};
pub use transfer::{ExportPage, ImportPage};
pub use trend::{TrendFigure, TrendPage, TrendRow};
pub use trial::TrialPage;
