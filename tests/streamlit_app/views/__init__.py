"""Tests of streamlit_app/views."""
