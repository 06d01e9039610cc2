# CR2 and Satterthwaite's degrees of freedom of mean-zero strengths and their differences, by clubSandwich:
#   Rscript club_sandwich.R rows.csv     (x, y, won, cluster, weight; systems numbered from 0)
suppressMessages(library(clubSandwich))
rows <- read.csv(commandArgs(TRUE)[1])
k <- max(rows$x, rows$y) + 1
design <- sapply(seq_len(k) - 1, function(system) (rows$x == system) - (rows$y == system))[, -k, drop = FALSE]
fit <- suppressWarnings(glm(rows$won ~ design - 1, family = binomial, weights = rows$weight,
                            control = list(epsilon = 1e-14, maxit = 100)))
covariance <- vcovCR(fit, cluster = rows$cluster, type = "CR2")
centred <- rbind(diag(k - 1), 0) - 1 / k
for (a in seq_len(k)) for (b in a:k) {
  contrast <- if (a == b) centred[a, ] else centred[a, ] - centred[b, ]
  found <- linear_contrast(fit, vcov = covariance, contrasts = matrix(contrast, 1), test = "Satterthwaite")
  cat(sprintf("%d,%d,%.10f,%.10f,%.10f\n", a - 1, b - 1, found$Est, found$SE, found$df))
}
