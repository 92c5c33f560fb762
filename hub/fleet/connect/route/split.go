package route

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/common/contract"
)

// Kind classifies the paths of requests.
type Kind string

// Kinds of requests.
const (
	// Groups, Group and Version are discovery: of all groups, of the group, and of its version.
	Groups  Kind = "Groups"
	Group   Kind = "Group"
	Version Kind = "Version"
	// OpenAPI are the descriptions of the API. Rest has the path.
	OpenAPI Kind = "OpenAPI"
	// Lines is the list of lines, and Line a single one.
	Lines Kind = "Lines"
	Line  Kind = "Line"
	// Attach is the request of an agent to open its line.
	Attach Kind = "Attach"
	// Proxy is a request to the API of a member. Rest is its path there, starting with a slash.
	Proxy Kind = "Proxy"
)

// Target is the parsed path of a request.
type Target struct {
	Kind Kind
	// Cluster is the cluster of a Line, Attach or Proxy.
	Cluster string
	// Rest is the remainder of the path, still escaped.
	Rest string
}

// ErrUnknown says that nothing is served at a path.
var ErrUnknown = errors.New("nothing is served at this path")

// Split parses the escaped path of a request. An error other than ErrUnknown is a sentence about what is wrong with the
// path.
func Split(escaped string) (Target, error) {
	switch {
	case escaped == "/apis", escaped == "/apis/":
		return Target{Kind: Groups}, nil
	case escaped == "/apis/"+contract.ConnectGroup, escaped == "/apis/"+contract.ConnectGroup+"/":
		return Target{Kind: Group}, nil
	case escaped == contract.ConnectAPIPath, escaped == contract.ConnectAPIPath+"/":
		return Target{Kind: Version}, nil
	case escaped == "/openapi/v2", escaped == "/openapi/v3", strings.HasPrefix(escaped, "/openapi/v3/"):
		return Target{Kind: OpenAPI, Rest: escaped}, nil
	}
	inside, ok := strings.CutPrefix(escaped, contract.ConnectAPIPath+"/")
	if !ok {
		return Target{}, ErrUnknown
	}
	resource, inside, _ := strings.Cut(inside, "/")
	if resource == contract.LinesResource && inside == "" {
		return Target{Kind: Lines}, nil
	}
	name, rest, more := strings.Cut(inside, "/")
	subresource, rest, deeper := strings.Cut(rest, "/")
	var kind Kind
	switch {
	case resource == contract.LinesResource && subresource == "" && !deeper:
		kind = Line
	case resource == contract.LinesResource && subresource == contract.AttachSubresource && rest == "":
		kind = Attach
	case resource == contract.ConnectClustersResource && more && subresource == contract.ProxySubresource:
		kind = Proxy
	default:
		return Target{}, ErrUnknown
	}
	cluster, err := clusterOf(name)
	if err != nil {
		return Target{}, err
	}
	if kind != Proxy {
		return Target{Kind: kind, Cluster: cluster}, nil
	}
	if err := checkRest(rest); err != nil {
		return Target{}, err
	}
	return Target{Kind: kind, Cluster: cluster, Rest: "/" + rest}, nil
}

// clusterOf returns the name of a cluster from a segment of a path.
func clusterOf(segment string) (string, error) {
	name, err := url.PathUnescape(segment)
	if err != nil {
		return "", errors.New("the name of the cluster in this path has a broken escape")
	}
	if name == "*" {
		return "", errors.New("there is no request to all clusters at once: name one, as in clusters/NAME/proxy")
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", fmt.Errorf("%.70q cannot be the name of a cluster", name)
	}
	return name, nil
}

// checkRest rejects a path that programs on the way could interpret differently.
func checkRest(rest string) error {
	plain, err := url.PathUnescape(rest)
	if err != nil {
		return errors.New("the path has a broken escape")
	}
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == "." || segment == ".." {
			return errors.New("the path has a segment `.` or `..`, which is not resolved here: write the path that you mean")
		}
	}
	if strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("the path has a control character")
	}
	return nil
}
