package cli

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/logging"
	"fairlead.dev/common/quantity"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/people/operate"
)

func (f *serveFlags) checkAddresses() error {
	if _, err := netip.ParseAddr(f.bindAddress); err != nil {
		return fmt.Errorf("--bind-address %q is not an IP address", f.bindAddress)
	}
	if f.securePort < 0 || f.securePort > 65535 {
		return fmt.Errorf("--secure-port %d is not between 0 and 65535", f.securePort)
	}
	if strings.ContainsAny(f.advertiseHost, "/ ") {
		return fmt.Errorf("--advertise-host %q is not a name or an address", f.advertiseHost)
	}
	for _, address := range f.addresses {
		if _, err := operate.Endpoint(address); err != nil {
			return fmt.Errorf("--hub-addresses %q is not of the form https://HOST:PORT", address)
		}
	}
	if f.advertiseURL == "" {
		return nil
	}
	if _, err := operate.Endpoint(f.advertiseURL); err != nil {
		return fmt.Errorf("--advertise-url %q is not of the form https://HOST:PORT", f.advertiseURL)
	}
	return nil
}

// names returns the names that the embedded API's certificate needs in addition to those that it finds by itself.
func (f *serveFlags) names() []string {
	names := slices.Clone(f.tlsSANs)
	if u, err := url.Parse(f.advertiseURL); err == nil && u.Hostname() != "" {
		names = append(names, u.Hostname())
	}
	return names
}

func (f *serveFlags) checkPrefix() error {
	const most = validation.DNS1123LabelMaxLength - contract.MaxClusterNameLength
	if f.prefix == "" || len(f.prefix) > most || len(validation.IsDNS1123Label(f.prefix+"x")) > 0 {
		return fmt.Errorf("--execution-namespace-prefix %q must consist of 1 to %d lower-case letters, digits and '-', and begin with a letter or digit", f.prefix, most)
	}
	return nil
}

func (f *serveFlags) checkPeriods() error {
	for name, value := range map[string]time.Duration{
		"cluster-monitor-period":       f.monitorPeriod,
		"cluster-monitor-grace-period": f.monitorGrace,
		"cluster-startup-grace-period": f.startupGrace,
	} {
		if value <= 0 {
			return fmt.Errorf("--%s %s is not positive", name, value)
		}
	}
	if f.evictionGrace <= 0 {
		return fmt.Errorf("--graceful-eviction-timeout %s is not positive", f.evictionGrace)
	}
	if f.evictionRate < 0 {
		return fmt.Errorf("--resource-eviction-rate %v is negative", f.evictionRate)
	}
	if mode := policyv1alpha1.PurgeMode(f.evictionPurge); mode != policyv1alpha1.PurgeGracefully && mode != policyv1alpha1.PurgeDirectly {
		return fmt.Errorf("--no-execute-taint-eviction-purge-mode is %q; it must be %s or %s", f.evictionPurge, policyv1alpha1.PurgeGracefully, policyv1alpha1.PurgeDirectly)
	}
	return nil
}

// checkStorage parses how much of the database a namespace may use.
func (f *serveFlags) checkStorage() error {
	q, err := quantity.Parse(f.storage)
	if err != nil || q.Sign() < 0 {
		return fmt.Errorf("--namespace-storage is %q; it must be a number of bytes such as 2Gi, or 0", f.storage)
	}
	f.storageBytes = quantity.Value(q)
	return nil
}

// compileSkipped compiles the exclusions from propagation; expressions match whole names.
func (f *serveFlags) compileSkipped() error {
	for _, s := range f.skipped {
		pattern, err := regexp.Compile("^(?:" + s + ")$")
		if err != nil {
			return fmt.Errorf("--skipped-propagating-namespaces %q is not a regular expression: %w", s, err)
		}
		f.skippedPatterns = append(f.skippedPatterns, pattern)
	}
	if f.namespaces != namespacesUsed && f.namespaces != namespacesAll {
		return fmt.Errorf("--propagate-namespaces is %q; it must be %s or %s", f.namespaces, namespacesUsed, namespacesAll)
	}
	var err error
	if f.skippedKinds, err = selector.ParseSkippedKinds(f.skippedAPIs); err != nil {
		return fmt.Errorf("--skipped-propagating-apis: %w", err)
	}
	return nil
}

func (f *serveFlags) checkApproval() error {
	if f.approval != approvalAuto && f.approval != approvalManual {
		return fmt.Errorf("--approval is %q; it must be %s or %s", f.approval, approvalAuto, approvalManual)
	}
	return nil
}

func (f *serveFlags) checkOutput() error {
	if f.events != eventsSummary && f.events != eventsAll {
		return fmt.Errorf("--events is %q; it must be %s or %s", f.events, eventsSummary, eventsAll)
	}
	if f.logFormat != logging.FormatText && f.logFormat != logging.FormatJSON {
		return fmt.Errorf("--log-format is %q; it must be %s or %s", f.logFormat, logging.FormatText, logging.FormatJSON)
	}
	if f.verbosity < 0 {
		return fmt.Errorf("--verbosity %d is negative", f.verbosity)
	}
	return nil
}
