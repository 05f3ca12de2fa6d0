# Everything a developer runs. `make` alone lists the targets.

MODULES := node_modules/.package-lock.json
BIN     := node_modules/.bin
NODE    := $(BIN)/node
BUNDLE  := dist/hcloud-reactive-controller.mjs
VERSION := $(shell sed -n 's/^  "version": "\(.*\)",/\1/p' package.json)
SOURCES := $(shell find lib -name '*.ts') package.json
# Scenarios that start the program against a cluster; the others run in virtual time, where a real API server can't follow.
ON_CLUSTER = $(shell grep -l 'scenarios()' spec/scenarios/*.spec.ts)

.DEFAULT_GOAL := help
.PHONY: help demo test check format lint types unit audit scale scenarios spec-cluster spec-chart robustness interleavings bench bundle image image-root docs manifests clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(BUNDLE) ## run the controller against simulated Hetzner and Kubernetes (ARGS=--full, --json)
	@$(NODE) $(BUNDLE) demo $(ARGS)

test: check scale scenarios spec-cluster spec-chart image ## everything: static checks, unit specs, scenarios, real API server

check: format lint types unit ## quick checks and unit specs, a minute or two

format: $(MODULES)
	@$(BIN)/biome format

lint: $(MODULES)
	@$(BIN)/biome lint --error-on-warnings

types: $(MODULES)
	@$(BIN)/tsc --noEmit -p .

unit: $(MODULES)
	@$(NODE) --test 'spec/*.spec.ts' 'spec/{streams,kubernetes,hetzner,controllers,settings,observability,simulator,support,image}/**/*.spec.ts'

audit: $(MODULES) ## known vulnerabilities of the dependencies, as the registry tells them
	@$(NODE) spec/support/audit.ts

scale: $(MODULES) ## specs with numbers too large for `check`
	@$(NODE) --test 'spec/scale/**/*.spec.ts'

scenarios: $(BUNDLE) ## the whole program against the simulator
	@$(NODE) --test --test-concurrency=2 'spec/{scenarios,demo,robustness}/**/*.spec.ts'

# Exit code 3 of assets.ts: no binaries and no Go. With CI=true that is 1.
spec-cluster: $(BUNDLE) ## the embedded Kubernetes API and the whole program against a real one (builds it once)
	@$(NODE) spec/support/assets.ts; found=$$?; \
	case $$found in 0|3) ;; *) exit 1 ;; esac; \
	$(NODE) --test --test-concurrency=1 'spec/cluster/**/*.spec.ts' || exit 1; \
	if [ $$found = 3 ]; then $(NODE) spec/support/assets.ts || true; exit 0; fi; \
	CLUSTER=real $(NODE) --test --test-concurrency=2 $(ON_CLUSTER)

# The API server was built by spec-cluster, unless this target is called alone.
spec-chart: $(BUNDLE) ## the chart: rendered by Helm, applied to the real API server, and run as installed (builds Helm once)
	@for asset in helm assets; do $(NODE) spec/support/$$asset.ts >&2; case $$? in 0|3) ;; *) exit 1 ;; esac; done
	@$(NODE) --test --test-concurrency=1 'spec/chart/**/*.spec.ts'

robustness: $(MODULES) ## each fault in each call, a month of churn, a week of short quota: most of an hour (ARGS="--only soak")
	@$(NODE) spec/robustness/robustness.ts $(ARGS)

interleavings: $(MODULES) ## courses of events in orders nobody has seen (ARGS=how many, 300 when not given; SEED=one again)
	@SEEDS=$(or $(ARGS),300) $(NODE) --test --test-reporter=dot spec/robustness/interleavings.spec.ts
	@STEPS=20000 $(NODE) --test --test-reporter=dot spec/scenarios/life-at-random.spec.ts

bench: $(BUNDLE) ## figures beside the targets, against a real kube-apiserver
	@$(NODE) spec/support/assets.ts
	@$(NODE) spec/bench/bench.ts $(ARGS)

# Exit code 3: neither root nor Debian's tools. With CI=true that is 1.
image: $(BUNDLE) ## dist/image: the container image (OCI), without a container engine, and starts it
	@$(NODE) spec/image/build.ts || [ $$? = 3 ]

image-root: $(BUNDLE)
	@$(NODE) spec/image/build.ts --root

docs: $(MODULES) ## write the generated references anew
	@$(NODE) spec/support/generate-docs.ts

manifests: $(MODULES) ## write the plain manifests anew, with Helm
	@$(NODE) spec/chart/plain-manifests.ts

bundle: $(BUNDLE) ## one file that runs with Node.js alone

# A CommonJS body in an ES module: `import` of Node's own modules reads all their exports, which costs up to 8 MiB each.
# `esbuildDetection` is how undici's bundle for Node.js leaves out its second HTTP parser.
$(BUNDLE): $(SOURCES) $(MODULES)
	@$(BIN)/esbuild lib/main.ts --bundle --platform=node --format=cjs --target=node24 --minify --keep-names \
	  --legal-comments=none --log-level=warning --outfile=$@.tmp \
	  --alias:rxjs=./node_modules/rxjs/dist/esm/index.js --alias:node:http2=./lib/hetzner/no-http2.ts \
	  --define:esbuildDetection=true \
	  --define:process.env.NODE_ENV='"production"' --define:import.meta.url=__url \
	  --define:HCLOUD_REACTIVE_CONTROLLER_VERSION='"$(VERSION)"' \
	  --banner:js="const __url=import.meta.url,require=process.getBuiltinModule('module').createRequire(__url),module={exports:{}};"
	@mv $@.tmp $@

$(MODULES): package.json package-lock.json
	@echo 'installing dependencies' >&2
	@npm ci --no-audit --no-fund --loglevel=error >&2
	@touch $@

clean: ## remove what was built
	@rm -rf dist node_modules
