package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/jsondepth"
)

// Limits of what is read from a member.
const (
	// askTimeout bounds each response. The hub's own timeout is shorter, and its error is more specific.
	askTimeout = 20 * time.Second
	// maxAnswer bounds a response, or all pages of a list together, and maxRefusal an error response.
	maxAnswer  = 64 << 20
	maxRefusal = 64 << 10
)

// Members gives access to the clusters of a hub with the rights of one user. It is safe for concurrent use.
type Members struct {
	config *rest.Config
	base   *url.URL
	http   *http.Client
	most   int64 // maxAnswer, except in tests
}

// NewMembers returns access to the clusters of a hub with a configuration for the hub.
func NewMembers(hub *rest.Config) (*Members, error) {
	hub = rest.CopyConfig(hub)
	hub.Timeout = 0 // logs are followed without a limit
	base, _, err := rest.DefaultServerUrlFor(hub)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the hub: %w", err)
	}
	shared, err := rest.HTTPClientFor(hub)
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub at %s: %w", hub.Host, err)
	}
	// Redirects of a member are not followed. The client is copied before the change: without TLS it is the shared
	// default client.
	client := *shared
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Members{config: hub, base: base, http: &client, most: maxAnswer}, nil
}

// Server returns the address of a cluster's API, given that of its hub.
func Server(hub, cluster string) string {
	return strings.TrimRight(hub, "/") + contract.ClusterProxyPath(cluster)
}

// member is one cluster.
type member struct {
	*Members
	cluster string
}

// url returns the address of a path in the member's API.
func (m member) url(path string, query url.Values) *url.URL {
	u := *m.base
	u.Path = Server(u.Path, m.cluster) + path
	u.RawQuery = query.Encode()
	return &u
}

// open makes a request and returns the body of the response, which may be endless. An error response becomes an error,
// with the message of whoever refused.
func (m member) open(ctx context.Context, path string, query url.Values, accept string) (io.ReadCloser, error) {
	return m.Members.open(ctx, m.url(path, query), accept)
}

func (m *Members) open(ctx context.Context, at *url.URL, accept string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", at.Path, err)
	}
	request.Header.Set("Accept", accept)
	answer, err := m.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	defer func() { _ = answer.Body.Close() }()
	return nil, refusal(answer)
}

// refusal converts an error response to an error, with the message of whoever refused.
func refusal(answer *http.Response) error {
	content, err := io.ReadAll(jsondepth.Limit(io.LimitReader(answer.Body, maxRefusal), jsondepth.MaxValue))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	status := metav1.Status{}
	if json.Unmarshal(content, &status) == nil && status.Kind == "Status" && status.Message != "" {
		status.Code = int32(answer.StatusCode)
		return &apierrors.StatusError{ErrStatus: status}
	}
	after, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // 0 is right if it is not a number
	return apierrors.NewGenericServerResponse(answer.StatusCode, answer.Request.Method, schema.GroupResource{}, "",
		strings.TrimSpace(string(content[:min(len(content), maxSaid)])), after, true)
}

// maxSaid bounds how much is shown of an error response that is not a Status.
const maxSaid = 300

// Media types: whole objects, and metadata only.
const (
	asJSON     = "application/json"
	asMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// OperatorsOff is the LineStatus.Operators of a member whose owner does not admit operators.
const OperatorsOff = "off"

// Line is the line of a cluster as the hub's API returns it.
type Line struct {
	Up bool `json:"up"`
	// Since and Lost are times as the hub formats them.
	Since string `json:"since"`
	Lost  string `json:"lost"`
	// Goodbye says that the agent ended the last line deliberately.
	Goodbye bool `json:"goodbye,omitempty"`
	// Operators summarizes what the owner permits operators; empty if unknown.
	Operators string `json:"operators"`
}

// Line reads the state of a cluster's line; nil if the hub knows none.
func (m *Members) Line(ctx context.Context, cluster string) (*Line, error) {
	lines, err := m.lines(ctx, url.Values{"fieldSelector": {"metadata.name=" + cluster}})
	if err != nil {
		return nil, err
	}
	line, ok := lines[cluster]
	if !ok {
		return nil, nil
	}
	return &line, nil
}

// Lines reads the lines of all clusters, by cluster. Clusters that never had one are missing.
func (m *Members) Lines(ctx context.Context) (map[string]Line, error) { return m.lines(ctx, nil) }

func (m *Members) lines(ctx context.Context, query url.Values) (map[string]Line, error) {
	at := *m.base
	at.Path = strings.TrimRight(at.Path, "/") + contract.ConnectAPIPath + "/" + contract.LinesResource
	at.RawQuery = query.Encode()
	out := map[string]Line{}
	_, _, err := m.list(ctx, &at, asJSON, math.MaxInt, m.allowance(), func(raw json.RawMessage) error {
		var one struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Status Line `json:"status"`
		}
		if err := json.Unmarshal(raw, &one); err != nil {
			return err
		}
		out[one.Metadata.Name] = one.Status
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
