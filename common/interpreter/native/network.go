package native

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func service() rules {
	return rules{
		retain: func(desired, live content) error {
			liveSpec, spec := contentAt(live, "spec"), contentAt(desired, "spec")
			// The hub's API allocates a port for the template as well, which cannot be told from one that its author
			// requested.
			if number(liveSpec, "healthCheckNodePort") > 0 {
				take(own(desired, "spec"), liveSpec, "healthCheckNodePort")
			}
			// A request of the template is passed on: a Service cannot be made headless afterwards, and the member
			// reports that.
			if text(liveSpec, "clusterIP") != "" && text(spec, "clusterIP") == "" && spec["clusterIPs"] == nil {
				take(own(desired, "spec"), liveSpec, "clusterIP")
			}
			return nil
		},
		reflect: func(live content) content {
			out := content{}
			if isLoadBalancer(live) {
				take(out, contentAt(live, "status"), "loadBalancer")
			}
			return out
		},
		aggregate: func(template content, items []item) error {
			if isLoadBalancer(template) {
				// The API server requires an ipMode with an IP; older members report none.
				aggregateLoadBalancer(template, items, string(corev1.LoadBalancerIPModeVIP))
			}
			return nil
		},
		healthy: func(live content) bool { return !isLoadBalancer(live) || hasAddress(live) },
	}
}

func ingress() rules {
	return rules{
		dependencies: ingressDependencies,
		aggregate: func(template content, items []item) error {
			aggregateLoadBalancer(template, items, "")
			return nil
		},
		healthy: hasAddress,
	}
}

func isLoadBalancer(obj content) bool {
	return text(contentAt(obj, "spec"), "type") == string(corev1.ServiceTypeLoadBalancer)
}

// hasAddress returns whether the object has a host name or an IP.
func hasAddress(live content) bool {
	for _, entry := range list(contentAt(live, "status", "loadBalancer"), "ingress") {
		if text(entry, "hostname") != "" || text(entry, "ip") != "" {
			return true
		}
	}
	return false
}

// address identifies an entry in the status of a load balancer.
type address struct{ hostname, ip, mode string }

// aggregateLoadBalancer lists the addresses of all clusters without duplicates, host names first. mode is the default
// ipMode.
func aggregateLoadBalancer(template content, items []item, mode string) {
	ports := map[address][]content{}
	for _, it := range items {
		for _, entry := range list(contentAt(it.status, "loadBalancer"), "ingress") {
			at := address{text(entry, "hostname"), text(entry, "ip"), text(entry, "ipMode")}
			if at.ip != "" {
				at.mode = cmp.Or(at.mode, mode)
			}
			ports[at] = append(ports[at], list(entry, "ports")...)
		}
	}
	addresses := make([]address, 0, len(ports))
	for at := range ports {
		addresses = append(addresses, at)
	}
	slices.SortFunc(addresses, func(a, b address) int {
		if (a.hostname == "") != (b.hostname == "") {
			return cmp.Compare(b.hostname, a.hostname) // host names first
		}
		return cmp.Or(cmp.Compare(a.hostname, b.hostname), cmp.Compare(a.ip, b.ip), cmp.Compare(a.mode, b.mode))
	})
	entries := make([]content, 0, len(addresses))
	for _, at := range addresses {
		entry := content{}
		for field, value := range map[string]string{"hostname": at.hostname, "ip": at.ip, "ipMode": at.mode} {
			if value != "" {
				entry[field] = value
			}
		}
		setList(entry, "ports", uniquePorts(ports[at]))
		entries = append(entries, entry)
	}
	balancer := content{}
	setList(balancer, "ingress", entries)
	status := contentAt(template, "status")
	if len(entries) > 0 || len(contentAt(status, "loadBalancer")) > 0 {
		status["loadBalancer"] = balancer
	}
}

func uniquePorts(ports []content) []content {
	compare := func(a, b content) int {
		return cmp.Or(
			cmp.Compare(number(a, "port"), number(b, "port")),
			cmp.Compare(text(a, "protocol"), text(b, "protocol")),
			cmp.Compare(text(a, "error"), text(b, "error")),
		)
	}
	slices.SortFunc(ports, compare)
	return slices.CompactFunc(ports, func(a, b content) bool { return compare(a, b) == 0 })
}
