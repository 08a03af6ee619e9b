# The two doors of the checkout: `make get URL=…` and `make test`. `make help` lists the rest.

SHELL := /bin/bash
PREFIX ?= $(HOME)/.local
SOURCES := Package.swift Sources Tests Examples Benchmarks/Scale Benchmarks/FleetDestinations
# The Swift runtime, SQLite and libxml2 go into the binary, so that it runs where none of them is installed.
STATIC := .build/static
# Names of types in place of their metadata make the runtime search every conformance of the binary at each first use.
METADATA := -Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors
# Line tables take a tenth of the first build and half of the binary. DEBUG_INFO=dwarf makes them, and builds everything again.
DEBUG_INFO ?= none
RELEASE := -c release -debug-info-format $(DEBUG_INFO) --product haul --static-swift-stdlib $(METADATA)
BINARY := .build/release/haul
FLEET := -c release -debug-info-format $(DEBUG_INFO) --product haul-fleet --static-swift-stdlib $(METADATA)
FLEET_BINARY := .build/release/haul-fleet
SCALE := -c release -debug-info-format $(DEBUG_INFO) --product HaulScale --static-swift-stdlib $(METADATA)
# As `tool` in Benchmarks/lib/upload.py builds it.
DESTINATIONS := -c release -Xswiftc -enable-testing --scratch-path .build/tools --product HaulFleetDestinations
# As `tool` in Acceptance/sets/support/hub.py builds it.
HUB := -c release -Xswiftc -enable-testing --scratch-path .build/tools --product HaulHub
MOTO := .build/moto
# With make -s no progress is shown.
SILENT := $(if $(findstring s,$(firstword -$(MAKEFLAGS))),--quiet)
DOCS := .build/documentation
AXE := .build/axe
PYTEST = HAUL_PAGE_AXE=$(AXE) SE_OFFLINE=true /usr/bin/python3 -B -m pytest -q -p no:cacheprovider
PAGE_TESTS = $(PYTEST) Tests/Page

.PHONY: help get serve fleet fleet-database fleet-demo fleet-requirements test test-fast test-page test-extension docs install install-fleet uninstall deb image format lint check bench acceptance build requirements test-requirements page-requirements bench-requirements acceptance-requirements deb-requirements image-requirements clean

help:
	@echo "make get URL=…   install what is missing, build, download (ARGS=… for more arguments)"
	@echo "make serve       install what is missing, build, run the daemon and its page (ARGS=… for arguments)"
	@echo "make fleet       install what is missing, build haul-fleet"
	@echo "make fleet-demo  a fleet on this machine: a database, a folder, two workers (LIST=… for a file of URLs)"
	@echo "make fleet-database   start a PostgreSQL for trying haul-fleet, and print its URL"
	@echo "make test        install what is missing, run every test (FILTER=… for those whose name matches a regular expression)"
	@echo "make test-page   run the tests of the page, in Chromium"
	@echo "make test-extension   run the tests of the browser extension, in Chromium"
	@echo "make test-fast   run the tests of the values (HaulCore), in seconds"
	@echo "make install     the command, its manual page and completions into PREFIX ($(PREFIX))"
	@echo "make install-fleet   haul-fleet, its manual page and completions, in the same way"
	@echo "make deb         Debian packages of haul and haul-fleet in .build"
	@echo "make image       container images of haul and haul-fleet in .build, for docker load and podman load"
	@echo "make bench       measure against curl, aria2c and wget"
	@echo "make acceptance  run the built programs through kills, damage, aria2's clients and hostile requests (ARGS='kills aria2/shapes' or ARGS=--full)"
	@echo "make docs        render the documentation of the library"
	@echo "make check       format check and tests, as CI runs them"
	@echo "make format      format every source file"

get: build
	@test -n "$(URL)" || { echo "make get URL=https://… [ARGS='--directory …']" >&2; exit 64; }
	@$(BINARY) get $(ARGS) "$(URL)"

serve: build
	@exec $(BINARY) serve $(ARGS)

build: requirements
	@libraries=$$(Scripts/static-libraries $(STATIC) && Scripts/icu-data $(STATIC) && Scripts/start-order $(STATIC)) && Scripts/build $(SILENT) $(RELEASE) $$libraries

# One queue, many machines: needs PostgreSQL's client library, unlike everything else here.
fleet: fleet-requirements
	@libraries=$$(Scripts/static-libraries $(STATIC) && Scripts/icu-data $(STATIC)) && Scripts/build $(SILENT) $(FLEET) $$libraries

fleet-database: fleet-requirements
	@Scripts/require postgresql
	@Scripts/fleet-database

fleet-demo: fleet
	@Scripts/require postgresql python3
	@Scripts/fleet-demo $(LIST)

test: test-requirements $(if $(FILTER),,page-requirements)
	@# Built first, and the page before the rest, so that the last line is the test runner's own summary.
	@Scripts/build $(SILENT) --build-tests
	@$(if $(FILTER),:,$(PAGE_TESTS))
	@# Four a processor. With all of them at once each step of one waits for a step of every other: up to 16 s, where these wait for 2.
	@set -o pipefail; SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$$((4 * $$(nproc))) \
		swift test --skip-build $(if $(FILTER),--filter '$(FILTER)') 2>&1 | Scripts/failures-last

# The page in headless Chromium against a daemon of the debug build. HAUL_PAGE_SLOW=1 runs the long ones too, HAUL_PAGE_SHOTS=FOLDER
# keeps screenshots.
test-page: page-requirements
	@Scripts/build $(SILENT) --product haul
	@$(PAGE_TESTS)

# The browser extension, in the same way.
test-extension: page-requirements
	@Scripts/build $(SILENT) --product haul
	@$(PYTEST) Tests/Extension

# The target has no socket, no file and no store to use, so these tests are the fast ones. Built in a folder of their own, because
# they need a few of the libraries only.
test-fast: requirements
	@HAUL_CORE_TESTS=1 Scripts/build $(SILENT) --scratch-path .build/core --product haulPackageTests
	@HAUL_CORE_TESTS=1 swift test --scratch-path .build/core --skip-build $(if $(FILTER),--filter '$(FILTER)')

install: build
	install -D -m 755 $(BINARY) $(PREFIX)/bin/haul
	strip $(PREFIX)/bin/haul
	install -D -m 644 docs/haul.1 $(PREFIX)/share/man/man1/haul.1
	$(call install-completions,haul,$(BINARY))

install-fleet: fleet
	install -D -m 755 $(FLEET_BINARY) $(PREFIX)/bin/haul-fleet
	strip $(PREFIX)/bin/haul-fleet
	install -D -m 644 docs/haul-fleet.1 $(PREFIX)/share/man/man1/haul-fleet.1
	$(call install-completions,haul-fleet,$(FLEET_BINARY))

define install-completions
@for shell in bash zsh fish; do $(2) --generate-completion-script $$shell > .build/completion.$$shell; done
install -D -m 644 .build/completion.bash $(PREFIX)/share/bash-completion/completions/$(1)
install -D -m 644 .build/completion.zsh $(PREFIX)/share/zsh/site-functions/_$(1)
install -D -m 644 .build/completion.fish $(PREFIX)/share/fish/vendor_completions.d/$(1).fish
@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "$(PREFIX)/bin is not in PATH." ;; esac
endef

uninstall:
	@for name in haul haul-fleet; do rm -f $(PREFIX)/bin/$$name $(PREFIX)/share/man/man1/$$name.1 \
		$(PREFIX)/share/bash-completion/completions/$$name $(PREFIX)/share/zsh/site-functions/_$$name \
		$(PREFIX)/share/fish/vendor_completions.d/$$name.fish; done

# With the binary, the manual page, completions and units for systemd.
deb: build fleet deb-requirements
	@Packaging/build-deb $(BINARY) .build
	@Packaging/build-deb $(FLEET_BINARY) .build

# Of the binary, the libraries that it loads and certificate authorities: docs/container.md.
image: build fleet image-requirements
	@Packaging/build-image $(BINARY) .build
	@Packaging/build-image $(FLEET_BINARY) .build

format:
	swift format --in-place --recursive --configuration .swift-format $(SOURCES)

# The articles and the reference of every declaration. A warning is an error.
docs: requirements
	@# Links from the comments of HaulKit to types of HaulCore, which HaulKit exports, stay text: DocC resolves them only within a module.
	@HAUL_DOCS=1 swift package --allow-writing-to-directory $(DOCS) generate-documentation --target HaulCore --target HaulKit \
		--enable-experimental-combined-documentation --output-path $(DOCS) --transform-for-static-hosting
	@echo "$(DOCS)/documentation/haulkit/index.html: open it through a server, such as python3 -m http.server -d $(DOCS)"

lint:
	swift format lint --strict --recursive --configuration .swift-format $(SOURCES)

# What CI runs.
check: lint test

bench: build bench-requirements
	Benchmarks/run --json .build/bench.json --compare docs/benchmarks.json

# One line a program, and a summary. ARGS names some of them, or gives them their full sizes: Acceptance/run --help.
acceptance: build fleet acceptance-requirements
	@libraries=$$(Scripts/static-libraries $(STATIC) && Scripts/icu-data $(STATIC)) && Scripts/build $(SILENT) $(SCALE) $$libraries
	@HAUL_TOOLS=1 Scripts/build $(SILENT) $(DESTINATIONS)
	@HAUL_TOOLS=1 Scripts/build $(SILENT) $(HUB)
	@Acceptance/run $(ARGS)

requirements:
	@Scripts/require libsqlite3-dev libxml2-dev liblzma-dev zlib1g-dev binutils python3

fleet-requirements: requirements
	@Scripts/require libpq-dev

test-requirements: fleet-requirements
	@Scripts/require nginx-light openssl curl ffmpeg iproute2 dbus python3-dbus python3-gi postgresql pgbouncer python3-pip gnupg gpgv minisign zstd
	@# A server of S3, which Debian does not have.
	@test -d $(MOTO) || python3 -m pip install --quiet --disable-pip-version-check --target $(MOTO) 'moto[server]==5.2.1'

page-requirements: requirements
	@Scripts/require chromium chromium-driver python3-selenium python3-pytest python3-pip nginx-light
	@# The rules of axe-core, which Debian does not have.
	@test -d $(AXE) || python3 -m pip install --quiet --disable-pip-version-check --no-deps --target $(AXE) axe-playwright-python==0.1.8

bench-requirements:
	@Scripts/require nginx-light openssl curl aria2 wget wget2 python3 python3-pip axel ffmpeg

# The Python packages of other programs are installed below .build by the programs that run them.
acceptance-requirements: image-requirements
	@Scripts/require nginx-light apache2-bin openssl aria2 tmux postgresql python3 python3-pip python3-selenium chromium chromium-driver crun iproute2

deb-requirements:
	@Scripts/require dpkg-dev xz-utils

image-requirements:
	@Scripts/require buildah binutils ca-certificates

clean:
	swift package clean
