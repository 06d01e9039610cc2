# Runs the chunks of in-r.Rmd in a folder of exported tables and writes what they found:
#   Rscript figures.R in-r.Rmd FOLDER
given <- commandArgs(TRUE)
script <- tempfile(fileext = ".R")
invisible(knitr::purl(given[1], output = script, documentation = 0, quiet = TRUE))
setwd(given[2])
suppressMessages(source(script))
line <- function(...) cat(paste(c(...), collapse = "\t"), "\n", sep = "")
shown <- function(value) sprintf("%.9g", value)
for (system in systems) line("strength", system, shown(strengths[[system]]))
for (at in seq_along(systems)) line("strength_se", systems[at], shown(cr2$SE[at]), shown(cr2$df[at]))
for (at in seq_along(pairs)) {
  line("paired_t", paste(pairs[[at]], collapse = " "), shown(tests[[at]]$estimate), shown(p[at]), shown(holm[at]))
}
for (pair in names(spa)) line("preferences", pair, shown(spa[[pair]]$estimate), shown(spa[[pair]]$p.value))
for (name in names(fixef(linear))[-1]) line("lmer", sub("^system", "", name), shown(fixef(linear)[[name]]))
for (name in grep("^system", names(coef(ordinal)), value = TRUE)) {
  line("clmm", sub("^system", "", name), shown(coef(ordinal)[[name]]))
}
wrong <- read.csv("choices.csv", check.names = FALSE)
wrong <- ifelse(wrong$winner == "x", 1, ifelse(wrong$winner == "tie", 0.5, 0))
right <- c(x = 1, tie = 0.5, y = 0)[known$winner]
line("win_rate", "read_right", shown(mean(right)), length(right))
line("win_rate", "without_na_strings", shown(mean(wrong)), length(wrong))
for (package in c("R", "BradleyTerry2", "clubSandwich", "lme4", "ordinal", "knitr")) {
  line("version", package, if (package == "R") as.character(getRversion()) else as.character(packageVersion(package)))
}
