//! What a signed-in person sees first.

use axum::response::Response;
use oleada_app::pages::dashboard::{DashboardPage, render};

use crate::auth::CurrentUser;
use crate::error::Result;
use crate::render::Frame;

/// `GET /dashboard`
pub async fn show(_user: CurrentUser, frame: Frame) -> Result<Response> {
    let page = DashboardPage::default();
    frame.show(|chrome| render(chrome, &page)).await
}
