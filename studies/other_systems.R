# Called by studies/other_systems_r.py: Rscript --vanilla other_systems.R MODE FOLDER
#   dapper     statistic.csv, settings.csv -> draws.csv: posterior draws given a release, by data augmentation
#   functions  statistic.csv, settings.csv -> time.csv: the time of the functions that dapper calls for each row
#   BAS        rows.csv                    -> inclusion.csv: inclusion probabilities of the predictors of y

arguments <- commandArgs(trailingOnly = TRUE)
mode <- arguments[1]
in_folder <- function(name) file.path(arguments[2], name)

if (mode %in% c("dapper", "BAS") && !requireNamespace(mode, quietly = TRUE)) quit(status = 3)

# The model for dapper: x uniform on [-1, 1] (which is true), y normal, sums of products of (1, y / bound, x) released with noise.
data_model <- function() {
  settings <- read.csv(in_folder("settings.csv"))
  released <- read.csv(in_folder("statistic.csv"))
  n <- settings$rows
  d <- settings$predictors
  bound <- settings$response_bound
  noisy <- released$noise > 0
  size <- d + 2
  # Row by row through the upper triangle, as the release has it.
  first <- rep(seq_len(size), times = size:1)
  second <- unlist(lapply(seq_len(size), function(i) i:size))

  latent_f <- function(theta) {
    x <- matrix(runif(n * d, -1, 1), n, d)
    y <- theta[1] + x %*% theta[1 + seq_len(d)] + rnorm(n, 0, sqrt(theta[d + 2]))
    cbind(y, x)
  }
  st_f <- function(xi, sdp, i) {
    a <- c(1, max(-1, min(1, xi[1] / bound)), xi[-1])
    a[first] * a[second]
  }
  priv_f <- function(sdp, sx) sum(dnorm(sdp[noisy], sx[noisy], released$noise[noisy], log = TRUE))
  # A Gibbs step given rows: beta ~ N(0, 10^2), sigma^2 ~ inverse gamma(1, 0.1).
  post_f <- function(dmat, theta) {
    design <- cbind(1, dmat[, -1, drop = FALSE])
    precision <- crossprod(design) / theta[d + 2] + diag(d + 1) / 100
    half <- chol(precision)
    mean <- backsolve(half, forwardsolve(t(half), crossprod(design, dmat[, 1]) / theta[d + 2]))
    beta <- mean + backsolve(half, rnorm(d + 1))
    residuals <- dmat[, 1] - design %*% beta
    c(beta, 1 / rgamma(1, 1 + n / 2, 0.1 + sum(residuals^2) / 2))
  }
  list(settings = settings, sdp = released$value, latent_f = latent_f, st_f = st_f, priv_f = priv_f, post_f = post_f,
       start = c(rep(0, d + 1), 1), names = c("intercept", paste0("slope", seq_len(d)), "variance"))
}

if (mode == "dapper") {
  model <- data_model()
  privacy <- dapper::new_privacy(post_f = model$post_f, latent_f = model$latent_f, priv_f = model$priv_f, st_f = model$st_f,
                                 npar = length(model$start), varnames = model$names)
  found <- dapper::dapper_sample(privacy, sdp = model$sdp, init_par = model$start, seed = model$settings$seed,
                                 niter = model$settings$iterations)
  draws <- as.data.frame(unclass(found$chain))[, model$names]
  write.csv(draws, in_folder("draws.csv"), row.names = FALSE)
}

if (mode == "functions") {
  model <- data_model()
  set.seed(1)
  rows <- model$latent_f(model$start)
  total <- Reduce(`+`, lapply(seq_len(nrow(rows)), function(i) model$st_f(rows[i, ], model$sdp, i)))
  proposed <- model$latent_f(model$post_f(rows, model$start))
  seconds <- system.time(for (j in seq_len(nrow(rows))) {
    changed <- total - model$st_f(rows[j, ], model$sdp, j) + model$st_f(proposed[j, ], model$sdp, j)
    model$priv_f(model$sdp, changed) - model$priv_f(model$sdp, total)
  })[["elapsed"]]
  write.csv(data.frame(microseconds = 1e6 * seconds / nrow(rows)), in_folder("time.csv"), row.names = FALSE)
}

if (mode == "BAS") {
  rows <- read.csv(in_folder("rows.csv"))
  found <- BAS::bas.lm(y ~ ., data = rows, prior = "JZS", modelprior = BAS::beta.binomial(1, 1), method = "deterministic")
  inclusion <- as.data.frame(as.list(found$probne0[-1]), col.names = found$namesx[-1])
  write.csv(inclusion, in_folder("inclusion.csv"), row.names = FALSE)
}
