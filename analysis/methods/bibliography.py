"""What a methods section, or a report, may cite, in BibTeX."""

from __future__ import annotations

from collections.abc import Iterable

PAPERS = {
    "angelopoulos-2023-ppi": """@misc{angelopoulos-2023-ppi,
  title         = {{PPI}++: Efficient Prediction-Powered Inference},
  author        = {Angelopoulos, Anastasios N. and Duchi, John C. and Zrnic, Tijana},
  year          = {2023},
  eprint        = {2311.01453},
  archiveprefix = {arXiv}
}""",
    "benjamini-hochberg-1995-controlling": """@article{benjamini-hochberg-1995-controlling,
  title   = {Controlling the False Discovery Rate: A Practical and Powerful Approach to Multiple Testing},
  author  = {Benjamini, Yoav and Hochberg, Yosef},
  journal = {Journal of the Royal Statistical Society: Series B},
  volume  = {57},
  number  = {1},
  pages   = {289--300},
  year    = {1995}
}""",
    "benjamini-yekutieli-2001-control": """@article{benjamini-yekutieli-2001-control,
  title   = {The Control of the False Discovery Rate in Multiple Testing under Dependency},
  author  = {Benjamini, Yoav and Yekutieli, Daniel},
  journal = {The Annals of Statistics},
  volume  = {29},
  number  = {4},
  pages   = {1165--1188},
  year    = {2001}
}""",
    "bradley-terry-1952-rank": """@article{bradley-terry-1952-rank,
  title   = {Rank Analysis of Incomplete Block Designs: {I}. The Method of Paired Comparisons},
  author  = {Bradley, Ralph Allan and Terry, Milton E.},
  journal = {Biometrika},
  volume  = {39},
  number  = {3/4},
  pages   = {324--345},
  year    = {1952}
}""",
    "calderon-2025-alternative": """@misc{calderon-2025-alternative,
  title         = {The Alternative Annotator Test for {LLM}-as-a-Judge: How to Statistically Justify Replacing Human
                   Annotators with {LLM}s},
  author        = {Calderon, Nitay and Reichart, Roi and Dror, Rotem},
  year          = {2025},
  eprint        = {2501.10970},
  archiveprefix = {arXiv}
}""",
    "davidson-1970-extending": """@article{davidson-1970-extending,
  title   = {On Extending the {Bradley-Terry} Model to Accommodate Ties in Paired Comparison Experiments},
  author  = {Davidson, Roger R.},
  journal = {Journal of the American Statistical Association},
  volume  = {65},
  number  = {329},
  pages   = {317--328},
  year    = {1970}
}""",
    "ethayarajh-jurafsky-2022-authenticity": """@inproceedings{ethayarajh-jurafsky-2022-authenticity,
  title     = {The Authenticity Gap in Human Evaluation},
  author    = {Ethayarajh, Kawin and Jurafsky, Dan},
  booktitle = {Proceedings of the 2022 Conference on Empirical Methods in Natural Language Processing},
  year      = {2022},
  pages     = {6056--6070},
  publisher = {Association for Computational Linguistics},
  doi       = {10.18653/v1/2022.emnlp-main.406}
}""",
    "holm-1979-simple": """@article{holm-1979-simple,
  title   = {A Simple Sequentially Rejective Multiple Test Procedure},
  author  = {Holm, Sture},
  journal = {Scandinavian Journal of Statistics},
  volume  = {6},
  number  = {2},
  pages   = {65--70},
  year    = {1979}
}""",
    "howard-2021-time-uniform": """@article{howard-2021-time-uniform,
  title   = {Time-uniform, Nonparametric, Nonasymptotic Confidence Sequences},
  author  = {Howard, Steven R. and Ramdas, Aaditya and McAuliffe, Jon and Sekhon, Jasjeet},
  journal = {The Annals of Statistics},
  volume  = {49},
  number  = {2},
  pages   = {1055--1080},
  year    = {2021}
}""",
    "krippendorff-2011-computing": """@misc{krippendorff-2011-computing,
  title  = {Computing {Krippendorff's} Alpha-Reliability},
  author = {Krippendorff, Klaus},
  year   = {2011},
  note   = {Annenberg School for Communication, University of Pennsylvania}
}""",
    "plackett-1975-analysis": """@article{plackett-1975-analysis,
  title   = {The Analysis of Permutations},
  author  = {Plackett, R. L.},
  journal = {Journal of the Royal Statistical Society: Series C (Applied Statistics)},
  volume  = {24},
  number  = {2},
  pages   = {193--202},
  year    = {1975}
}""",
    "pustejovsky-tipton-2018-small": """@article{pustejovsky-tipton-2018-small,
  title   = {Small-Sample Methods for Cluster-Robust Variance Estimation and Hypothesis Testing in Fixed Effects
             Models},
  author  = {Pustejovsky, James E. and Tipton, Elizabeth},
  journal = {Journal of Business \\& Economic Statistics},
  volume  = {36},
  number  = {4},
  pages   = {672--683},
  year    = {2018}
}""",
    "schuirmann-1987-comparison": """@article{schuirmann-1987-comparison,
  title   = {A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing the Equivalence of
             Average Bioavailability},
  author  = {Schuirmann, Donald J.},
  journal = {Journal of Pharmacokinetics and Biopharmaceutics},
  volume  = {15},
  number  = {6},
  pages   = {657--680},
  year    = {1987}
}""",
    "waudby-smith-ramdas-2024-betting": """@article{waudby-smith-ramdas-2024-betting,
  title   = {Estimating Means of Bounded Random Variables by Betting},
  author  = {Waudby-Smith, Ian and Ramdas, Aaditya},
  journal = {Journal of the Royal Statistical Society: Series B (Statistical Methodology)},
  volume  = {86},
  number  = {1},
  pages   = {1--27},
  year    = {2024}
}""",
    "welch-1947-generalization": """@article{welch-1947-generalization,
  title   = {The Generalization of `Student's' Problem When Several Different Population Variances Are Involved},
  author  = {Welch, B. L.},
  journal = {Biometrika},
  volume  = {34},
  number  = {1/2},
  pages   = {28--35},
  year    = {1947}
}""",
    "zrnic-candes-2024-active": """@inproceedings{zrnic-candes-2024-active,
  title     = {Active Statistical Inference},
  author    = {Zrnic, Tijana and Cand{\\`e}s, Emmanuel J.},
  booktitle = {Proceedings of the 41st International Conference on Machine Learning},
  year      = {2024}
}""",
    "williams-1959-comparison": """@article{williams-1959-comparison,
  title   = {The Comparison of Regression Variables},
  author  = {Williams, E. J.},
  journal = {Journal of the Royal Statistical Society: Series B (Methodological)},
  volume  = {21},
  number  = {2},
  pages   = {396--399},
  year    = {1959}
}""",
}
SOFTWARE = """@misc{spa-eval,
  title  = {spa-eval: human evaluation of text and image generators},
  author = {{The spa-eval authors}},
  note   = {Version VERSION}
}"""
UNKNOWN = ",\n  note   = {Version VERSION}"


def software(version: str | None) -> str:
    """Return the entry of this software, with its version where that is known."""
    return SOFTWARE.replace(UNKNOWN, "") if version is None else SOFTWARE.replace("VERSION", version)


def bibliography(cited: Iterable[str], version: str | None) -> str:
    """Return the entries of the names cited, in their order; ``version`` is that of this software."""
    entries = [software(version) if name == "spa-eval" else PAPERS[name] for name in cited]
    return "\n\n".join(entries) + "\n" if entries else "% nothing is cited\n"
