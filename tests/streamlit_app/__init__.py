"""Tests of streamlit_app."""
