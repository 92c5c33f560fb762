# What can be done here: `make help`. Needs Go, git and make; whatever else is needed comes from the Go
# module proxy, at the versions below.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

KUBERNETES_VERSION     := v1.36.3
CONTROLLER_GEN_VERSION := v0.23.0
GOLANGCI_LINT_VERSION  := v2.15.0
GOVULNCHECK_VERSION    := v1.8.0
HELM_VERSION           := v4.3.1

# Programs say from which commit they are built, where git can be asked.
STAMP := $(if $(shell git rev-parse HEAD 2>/dev/null),true,false)
# How many member clusters demo, demo-up and bench start.
CLUSTERS ?= 3
# How many templates each workload of the bench has.
BENCH_N ?= 1000
# How many agents lose their hub in bench-agents.
BENCH_AGENTS ?= 500
# How many agents and applications bench-fleet goes up to.
AGENTS ?= 1000
BINDINGS ?= 10000
# How many percent of the clusters are silent in bench-rollout.
SILENT ?= 20
# How many packages with API servers of their own are tested at a time, and how many tests of each: they wait, for one
# another's programs and for time to pass. A control plane that waits takes a twentieth of a core: with 4 and 6 the same tests
# took a sixth more processor time on 2 cores. A member cluster takes 500 MB.
FLOW_PARALLEL ?= 3
FLOW_TESTS    ?= 4
# The chance of the round of chaos that is among the tests: they find tomorrow what they find today. `make chaos` draws its own.
CHAOS_SEED    ?= 1

# Tools come from the module proxy, each at its version. Go keeps them built in its cache, so that a fresh clone links none anew.
CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_GEN_VERSION)
GOLANGCI_LINT  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
GOVULNCHECK    := go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
# One set of flags for everything, so that build, vet, lint and tests share the build cache.
export CGO_ENABLED := 0
export GOFLAGS     := -trimpath -buildvcs=false

say = @printf '\033[1m» %s\033[0m\n' "$(1)"

##@ Build

.PHONY: build
build: bin/hub bin/agent bin/controlplane bin/kubectl ## Build bin/hub, bin/agent, bin/controlplane and bin/kubectl

# Go knows best whether these two are up to date.
.PHONY: bin/hub bin/agent
bin/hub bin/agent: bin/%:
	@echo "building $@"
	@go build -buildvcs=$(STAMP) -ldflags '-s -w' -o $@ ./$*

# What tests and generates the charts.
bin/helm: Makefile
	@echo "building $@ $(HELM_VERSION)"
	@GOBIN=$(CURDIR)/bin go install helm.sh/helm/v4/cmd/helm@$(HELM_VERSION)

# Linking Kubernetes takes a while even when all is cached, hence a rule with sources.
CONTROLPLANE_SOURCES := hub/machinery/controlplane/go.mod hub/machinery/controlplane/go.sum hub/machinery/controlplane/kwok/volume.yaml \
	$(shell find hub/machinery/controlplane -name '*.go' -not -name '*_test.go')
kubernetes_version = $(subst v,,$(KUBERNETES_VERSION))
CONTROLPLANE_LDFLAGS := -s -w \
	-X k8s.io/component-base/version.gitVersion=$(KUBERNETES_VERSION) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(kubernetes_version))) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(kubernetes_version)))

bin/controlplane: $(CONTROLPLANE_SOURCES)
	@echo "building $@: all of Kubernetes, which takes minutes the first time"
	@cd hub/machinery/controlplane && go build -ldflags '$(CONTROLPLANE_LDFLAGS)' -o $(CURDIR)/bin/controlplane.new .
	@mv bin/controlplane.new $@

bin/kubectl: | bin/controlplane
	@ln -sf controlplane $@

# The exponent of a quantity is short here: whoever decodes 1e-99999999 calculates for minutes.
quantity := ^(\\+|-)?(([0-9]{1,60}(\\.[0-9]{0,60})?)|(\\.[0-9]{1,60}))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?[0-9]{1,2}))?$$

# Where this API is from, nothing checks the conditions of a Cluster: who writes one there leaves out what Kubernetes
# demands of the type, or writes it as null or empty.
lenient_conditions := -e '/^ +conditions:$$/,/^ +type: array$$/{/^ +- (lastTransitionTime|message|reason)$$/d;/minLength: 1$$/d;/pattern: \^\[A-Za-z\]/d;s/^( +)format: date-time$$/&\n\1nullable: true/}'

.PHONY: generate
generate: hub-manifests ## Generate deep copies, CRDs and the pages of flags from the Go code, and the hub's manifests from its chart
	@echo "generating deep copies, CRDs and the pages of flags"
	@$(CONTROLLER_GEN) object paths=./common/api/...
	@$(CONTROLLER_GEN) crd paths=./common/api/... output:crd:dir=manifests/crds
	@go test -count=1 -run TestThePageOfFlagsIsUpToDate ./hub/cli ./agent/cli -update >/dev/null
	@sed -i -E '/pattern: .*KMGTPE/s/pattern: .*/pattern: $(quantity)/' manifests/crds/*.yaml
	@sed -i -E $(lenient_conditions) manifests/crds/cluster.karmada.io_clusters.yaml

.PHONY: hub-manifests
hub-manifests: bin/helm
	$(call hub_manifest,embedded,embedded.advertiseHost=hub.example.com)
	$(call hub_manifest,external,mode=external$(,)external.advertiseURL=https://hub-api.example.com:6443)

# A manifest of the hub for those without Helm: the head that the file has, and what the chart makes of values.
, := ,
hub_manifest = @file=manifests/install/hub/$(1).yaml; rendered=$$(bin/helm template fairlead-hub manifests/charts/hub -n fairlead-system --set createNamespace=true,$(2)); \
	head=$$(sed '/^[^\#]/,$$d' $$file); printf '%s\n' "$$head" "$$rendered" | sed -E '/^\# Source: /d; /^ *$$/d' >$$file

# Where the images are named to be: registry and path.
IMAGES ?= docker.io/fairlead

.PHONY: images
images: docker build ## Build the container images IMAGES/hub and IMAGES/agent, docker.io/fairlead/… (needs Docker)
	$(call image,hub)
	$(call image,agent)

.PHONY: docker
docker:
	@docker info >/dev/null 2>&1 || { echo 'This needs a Docker engine, and there is none that answers: `docker info` says why.'; exit 1; }

# The programs say themselves how their images are tagged: `agent join --install` names that tag.
image_tag = $$(bin/agent version -o json | sed -nE 's/.*"imageTag": *"([^"]+)".*/\1/p')
# Beside it they are tagged latest, which is what a name without a tag means.
# The context of an image is what its Dockerfile copies, and nothing else.
image = @tar -c --mode=a+rX Dockerfile.$(1) $$(sed -nE 's/^COPY (--[^ ]+ )*(.+) [^ ]+$$/\2/p' Dockerfile.$(1)) | docker build -q -f Dockerfile.$(1) -t $(IMAGES)/$(1):$(image_tag) -t $(IMAGES)/$(1):latest - >/dev/null && \
	echo "$(IMAGES)/$(1):$(image_tag)"

.PHONY: charts
charts: bin/agent bin/helm ## Package the Helm charts of hub and agent for the images of this version, in _charts
	@tag=$(image_tag); version=$${tag#v}; [ "$$tag" != latest ] || version=0.0.0; \
	bin/helm package manifests/charts/hub manifests/charts/agent --version $$version --app-version $$tag --destination _charts | sed 's/.*: //'

##@ Check

.PHONY: verify
verify: verify-generated verify-format verify-vet verify-modules verify-arch verify-pages lint verify-vulnerabilities ## Generated code, formatting, vet, linter, import rules, what pages name, known vulnerabilities

generated = find common/api manifests/crds manifests/install/hub hub/FLAGS.md agent/FLAGS.md -type f \( -name 'zz_generated*' -o -path '*crds*' -o -path '*install/hub*' -o -name FLAGS.md \) | sort | xargs sha256sum
.PHONY: verify-generated
verify-generated:
	$(call say,generated code)
	@before=$$($(generated)); $(MAKE) --no-print-directory generate; after=$$($(generated)); \
	if [ "$$before" != "$$after" ]; then \
		diff <(echo "$$before") <(echo "$$after") | sed -n 's/^> [0-9a-f]*  /changed: /p' || true; \
		echo 'Generated code was out of date. It is up to date now: look at the changes and commit them.'; exit 1; fi

.PHONY: verify-format
verify-format:
	$(call say,formatting)
	@files=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo 'Not formatted; run gofmt -w on:'; echo "$$files"; exit 1; fi

.PHONY: verify-vet
verify-vet:
	$(call say,go vet)
	@go vet ./...
	@cd hub/machinery/controlplane && go vet ./...

.PHONY: verify-modules
verify-modules:
	$(call say,go.mod and go.sum)
	@go mod tidy -diff
	@cd hub/machinery/controlplane && go mod tidy -diff

.PHONY: verify-arch
verify-arch:
	$(call say,import rules)
	@go test -count=1 ./test/arch/...

# A page that names what is not there is told in seconds, before minutes of tests.
.PHONY: verify-pages
verify-pages:
	$(call say,what pages name)
	@$(gotest) -count=1 ./test/reference

.PHONY: lint
lint: ## Run the linter
	$(call say,golangci-lint)
	@$(GOLANGCI_LINT) run --allow-parallel-runners ./...

# Where the vulnerability database cannot be reached there is nothing to check.
.PHONY: verify-vulnerabilities
verify-vulnerabilities:
	$(call say,known vulnerabilities)
	$(call vulnerabilities,.)
	$(call vulnerabilities,hub/machinery/controlplane)

# The known vulnerabilities of the module in a folder: govulncheck ends with 3 if there are any.
vulnerabilities = @out=$$(cd $(1) && $(GOVULNCHECK) ./... 2>&1) && status=0 || status=$$?; \
	if grep -qE 'dial tcp|lookup |no such host|Forbidden|timeout|HTTP GET|fetching vulnerabilities' <<<"$$out" && ! grep -qx 'exit status 3' <<<"$$out"; \
	then echo '$(1): skipped, the vulnerability database cannot be reached from here'; else echo "$$out"; exit $$status; fi

##@ Test

# What is tested was vetted before: see verify-vet. Half of linking a test is what only debuggers read.
gotest = go test -vet=off -ldflags '-s -w'
# A quarter of an API server's processor time is the search for garbage. There are dozens of them, each for a minute, and
# there is memory: they look for it more rarely, as does all that is started with them. Stories that are told in
# many ways spend as much on it, hence unit tests do likewise.
# There are more of them than cores: each keeps to one, and wakes no second thread that finds nothing to do, for a tenth less.
# And one hub serves the stages of many packages, one after the other: a start costs more than many a package.
flowtest = GOMAXPROCS=1 GOGC=400 FAIRLEAD_CHAOS_SEED=$(CHAOS_SEED) go run ./test/lend $(gotest) -parallel $(FLOW_TESTS)
# Packages with tests: those that start built programs, of the others those that start API servers (the slowest, those in
# test/, first), and those that start neither.
programs = ./test/chaos/... ./test/connect/... ./test/failover/... ./test/e2e/...
tested = go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Deps}} {{.TestImports}} {{.XTestImports}}{{end}}' ./... | \
	grep -vE '^[^ ]+/test/(e2e|connect|failover|chaos|arch|reference|network)[/ ]'
flow_packages = $(tested) | grep -F fairlead.dev/test/cluster | cut -d' ' -f1 | sort -r
unit_packages = $(tested) | grep -vF fairlead.dev/test/cluster | cut -d' ' -f1
# Fleets do not all start at once: a package that has one comes beside one that has none.
mixed_packages = paste -d' ' <(go list $(programs)) <($(flow_packages))
# Nothing can race where no goroutine is started, by a package, its tests, or a server or clock of theirs: a lock that only
# one goroutine takes tells nothing. Scripts that are given a second of processor time are not looked at either, nor stories
# that are made up, each by a goroutine that shares nothing: the race detector multiplies what they calculate.
starts_goroutines = \bgo func|^\s+go [A-Za-z_.]+\(|errgroup|\.Go\(|httptest|AfterFunc|NewManager|^var .*\b(sync|atomic)\.
racing_packages = for p in $$($(unit_packages) | grep -v -e /interpreter/lua/vm -e /interpreter/thirdparty -e /test/rollout); do \
	! grep -qE '$(starts_goroutines)' $${p\#fairlead.dev/}/*.go || echo $$p; done

# Shows what go test says when it says it, and at the end the packages that took longest. Some awks keep what they read.
slowest = (seen=$$(mktemp); tee "$$seen"; \
	awk '$$1 == "ok" && $$3 ~ /^[0-9.]+s$$/ {printf "%8.1f s  %s\n", $$3, $$2}' "$$seen" | sort -rn | head -10; rm -f "$$seen")

# The embedded API's module has tests of its own, which mostly link and wait: they run beside, and tell at the end.
.PHONY: test
test: build bin/helm test-unit ## Everything that is tested, on real API servers
	$(call say,flow tests and end-to-end tests)
	@sync # a build leaves gigabytes to be written, for which the databases that start next would wait seconds
	@$(without_browser)
	@told=$$(mktemp); trap 'rm -f "$$told"' EXIT; \
	$(MAKE) --no-print-directory test-embedded >"$$told" 2>&1 & embedded=$$!; \
	status=0; $(flowtest) -count=1 -timeout 30m -p $(FLOW_PARALLEL) $$($(mixed_packages)) | $(slowest) || status=$$?; \
	wait $$embedded || status=$$?; cat "$$told"; exit $$status

# For the test which holds that no package is left out.
.PHONY: tested-packages
tested-packages:
	@go list $(programs); $(flow_packages); $(unit_packages)

.PHONY: test-embedded
test-embedded: ## The module of the embedded API: etcd, kube-apiserver and what looks after them
	$(call say,tests of the embedded API)
	@cd hub/machinery/controlplane && GOGC=400 $(gotest) -timeout 15m ./...

.PHONY: test-unit
test-unit: ## The packages that need no API server, in about a minute
	$(call say,unit tests)
	@GOGC=400 $(gotest) -timeout 5m $$($(unit_packages)) | $(slowest)

.PHONY: rollout-fuzz
rollout-fuzz: ## Ten thousand made-up stories of staged rollouts, in some minutes; SEED=1 is the seed of the first
	$(call say,made-up stories of staged rollouts)
	@$(gotest) -count=1 -timeout 60m ./test/rollout -run TestInventedStories -runs 10000 -seed $(or $(SEED),1)

.PHONY: test-race
test-race: ## Of these the packages with goroutines under the race detector, which needs a C compiler
	$(call say,unit tests under the race detector)
	@CGO_ENABLED=1 $(gotest) -race -timeout 10m $$($(racing_packages))

without_browser = command -v $${CHROMIUM:-chromium} chromium-browser google-chrome >/dev/null || \
	echo 'skipped: the tests of the dashboard in a browser, since there is no chromium on this machine (apt-get install chromium)'

.PHONY: test-flow
test-flow: build bin/helm ## Stages, and hub and agents in one process, on real API servers
	$(call say,flow tests)
	@$(without_browser)
	@$(flowtest) -timeout 15m -p $(FLOW_PARALLEL) $$($(flow_packages)) | $(slowest)

.PHONY: test-e2e
test-e2e: build ## The built programs, from joining to kill -9, a lost cluster, and one round of chaos
	$(call say,end-to-end tests)
	@$(flowtest) -count=1 -p $(FLOW_PARALLEL) -timeout 15m $(programs) | $(slowest)

.PHONY: test-machines
test-machines: build ## A hub on several machines, with the whole exchange of its authority, of which the tests take the first step only
	$(call say,a hub on several machines)
	@FAIRLEAD_MACHINES_EXCHANGE=1 go test -count=1 -timeout 20m -v ./test/machines

.PHONY: test-network
test-network: images ## The images: a hub, and members on networks that nobody can dial into (needs Docker)
	$(call say,containers on private networks)
	@FAIRLEAD_IMAGES=$(image_tag) go test -count=1 -timeout 15m -v ./test/network

.PHONY: chaos
chaos: build ## Ten rounds of everything that fails in the field, the hub away for a minute each
	@FAIRLEAD_CHAOS_AWAY=1m go test -count=10 -failfast -timeout 2h -v ./test/chaos

##@ See it

demo_program = go run ./test/demo --clusters $(CLUSTERS)

.PHONY: demo
demo: build ## Start a hub and CLUSTERS members (3), apply the examples, leave all running
	@$(demo_program) run

.PHONY: demo-up
demo-up: build ## The same without the examples
	@$(demo_program) up

.PHONY: demo-down
demo-down: ## Stop the demo and remove what it wrote
	@$(demo_program) down

# Benches fail where something that was promised is missed: the programs end with status 2 then, and with 1 where they could not measure.
profiled = $(if $(PROFILES),--profiles $(PROFILES))

.PHONY: bench
bench: build ## Measure BENCH_N (1000) templates to CLUSTERS (3) members beside what was promised; result in _bench/result.json; PROFILES=DIR profiles all
	@go run ./test/bench --n $(BENCH_N) --clusters $(CLUSTERS) $(profiled)

.PHONY: bench-agents
bench-agents: build ## Measure how soon BENCH_AGENTS (500) agents are Ready again after their hub was away for a minute
	@go run ./test/bench/reconnect --agents $(BENCH_AGENTS)

.PHONY: bench-fleet
bench-fleet: build ## Measure a hub with up to AGENTS (1000) hollow agents and BINDINGS (10000) applications, at a quarter, half and the whole of it, beside what was promised; PROFILES=DIR profiles all
	@go run ./test/bench/fleet --agents $(AGENTS) --bindings $(BINDINGS) $(profiled)

.PHONY: bench-rollout
bench-rollout: CLUSTERS := $(if $(filter file,$(origin CLUSTERS)),1000,$(CLUSTERS))
bench-rollout: build ## Measure a staged rollout to CLUSTERS (1000) hollow clusters, SILENT (20) percent of them silent, beside its bars
	@go run ./test/bench/fleet --scenes rollout --sizes 1 --bindings 10 --agents $(CLUSTERS) --silent $(SILENT)

.PHONY: bench-connect
bench-connect: build ## Measure requests, logs, copies, idle lines, streams and a restart of the hub with LINES (500) lines, beside their bars; SILENCE (10m) adds commands that say nothing
	@go run ./test/bench/connect --lines $(or $(LINES),500) $(if $(SILENCE),--silence $(SILENCE))

.PHONY: bench-wan
bench-wan: build ## Measure an agent on a ship's line: 600 ms, 128 kbit/s, 2 % loss (takes half an hour)
	@go run ./test/bench/wan

.PHONY: clean
clean: demo-down ## Remove what was built and written; the Go build cache stays
	rm -rf bin _charts _demo _bench _artifacts

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  \033[1m%-13s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)
