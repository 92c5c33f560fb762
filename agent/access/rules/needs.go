package rules

import (
	"slices"
	"strings"
)

// CoreResources are the resources of the core API group that operators may read. Secrets are missing: they need a
// permission of their own.
var CoreResources = []string{ //nolint:gochecknoglobals // A constant list.
	"componentstatuses", "configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes", "persistentvolumeclaims",
	"persistentvolumes", "pods", "podtemplates", "replicationcontrollers", "resourcequotas", "serviceaccounts", "services",
}

// Groups are the API groups of Kubernetes whose objects operators may read.
var Groups = []string{ //nolint:gochecknoglobals // A constant list.
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "autoscaling", "batch",
	"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
	"gateway.networking.k8s.io", "metrics.k8s.io", "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io",
	"resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
}

// Paths are the non-resource paths that operators may read, to discover the API. A trailing star matches every path
// with that prefix.
var Paths = []string{ //nolint:gochecknoglobals // A constant list.
	"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/healthz/*", "/livez", "/livez/*", "/openapi/v2", "/openapi/v3", "/openapi/v3/*",
	"/readyz", "/readyz/*", "/version",
}

// selfReviews are the reviews, by API group, with which anybody may ask about their own identity and rights.
var selfReviews = map[string][]string{ //nolint:gochecknoglobals // A constant list.
	"authorization.k8s.io":  {"selfsubjectaccessreviews", "selfsubjectrulesreviews"},
	"authentication.k8s.io": {"selfsubjectreviews"},
}

// streams are the subresources that upgrade the connection.
var streams = []string{"exec", "attach", "portforward", "proxy"} //nolint:gochecknoglobals // A constant list.

// IsSelfReview returns whether a request only asks who the operator is or what the operator may do. It changes
// nothing.
func (r Request) IsSelfReview() bool {
	return r.Verb == verbCreate && !r.Upgrade && r.Name == "" && r.Namespace == "" && slices.Contains(selfReviews[r.Group], r.Resource)
}

// needs returns the permissions beyond reading that a request needs, or names what can never be allowed.
func needs(r Request, groups []string) (needed []Permission, never string) {
	switch {
	case r.Path != "":
		if r.Verb != verbGet || r.Upgrade || !isReadable(r.Path) {
			return nil, r.Verb + " of " + r.Path
		}
		return nil, ""
	case r.IsSelfReview():
		return nil, ""
	case r.Group == "":
		needed, never = needsOfCore(r)
	case slices.Contains(Groups, r.Group), slices.Contains(groups, r.Group):
		needed, never = needsOfPart(r)
	default:
		return nil, "objects of the API group " + r.Group + ", which --operators-api-groups would name"
	}
	switch {
	case never != "":
	case r.Upgrade && !slices.Contains(streams, r.Subresource):
		never = "streams of " + r.String()
	case r.more && !strings.HasSuffix(r.Subresource, "proxy"):
		never = "a path that goes on behind " + r.String()
	}
	return needed, never
}

// isReadable returns whether a non-resource path is among Paths.
func isReadable(path string) bool {
	return slices.ContainsFunc(Paths, func(known string) bool {
		prefix, isPrefix := strings.CutSuffix(known, "*")
		return path == known || isPrefix && strings.HasPrefix(path, prefix)
	})
}

// needsOfCore is needs for the core API group.
func needsOfCore(r Request) (needed []Permission, never string) {
	switch r.Resource + "/" + r.Subresource {
	case "pods/exec", "pods/attach":
		return []Permission{Exec}, ""
	case "pods/portforward":
		return []Permission{PortForward}, ""
	case "pods/proxy":
		return []Permission{PodsProxy}, ""
	case "services/proxy":
		return []Permission{ServicesProxy}, ""
	case "nodes/proxy":
		return []Permission{NodesProxy}, ""
	case "pods/log":
		if !r.Reads() {
			return nil, r.Verb + " of " + r.String()
		}
		return nil, ""
	case "pods/ephemeralcontainers": // it adds a program to a running pod
		return append(changing(r), Exec), ""
	case "pods/eviction", "pods/resize":
		return changing(r), ""
	case "serviceaccounts/token":
		return []Permission{Secrets}, ""
	case "secrets/":
		return append(changing(r), Secrets), ""
	}
	if !slices.Contains(CoreResources, r.Resource) {
		return nil, r.Resource
	}
	return needsOfPart(r)
}

// needsOfPart is needs for an object, its status or its scale.
func needsOfPart(r Request) (needed []Permission, never string) {
	switch r.Subresource {
	case "", "status", "scale":
		return changing(r), ""
	default:
		return nil, r.Resource + "/" + r.Subresource
	}
}

// changing returns Write, unless a request only reads.
func changing(r Request) []Permission {
	if r.Reads() {
		return nil
	}
	return []Permission{Write}
}
