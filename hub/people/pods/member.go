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

// Bounds of what is read of a member.
const (
	// askTimeout is how long one answer may take. The hub gives up on a member earlier, and says so.
	askTimeout = 20 * time.Second
	// maxAnswer bounds an answer, or all pages of one together, and maxRefusal what is read of one that is an error.
	maxAnswer  = 64 << 20
	maxRefusal = 64 << 10
)

// Members are the clusters of a hub, as one person reaches them. It may be used from many goroutines.
type Members struct {
	config *rest.Config
	base   *url.URL
	http   *http.Client
	most   int64 // maxAnswer, but in tests
}

// NewMembers returns the way into the clusters of a hub, by the person's own way to the hub.
func NewMembers(hub *rest.Config) (*Members, error) {
	hub = rest.CopyConfig(hub)
	hub.Timeout = 0 // logs are followed for as long as somebody wants
	base, _, err := rest.DefaultServerUrlFor(hub)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the hub: %w", err)
	}
	shared, err := rest.HTTPClientFor(hub)
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub at %s: %w", hub.Host, err)
	}
	// A member that answers with an address elsewhere sends nobody there. What is changed is a copy: without TLS the client is that of
	// the whole program.
	client := *shared
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Members{config: hub, base: base, http: &client, most: maxAnswer}, nil
}

// Server is the address of the API of a cluster, given that of its hub.
func Server(hub, cluster string) string {
	return strings.TrimRight(hub, "/") + contract.ClusterProxyPath(cluster)
}

// member is one cluster.
type member struct {
	*Members
	cluster string
}

// url is the address of something in the member's API.
func (m member) url(path string, query url.Values) *url.URL {
	u := *m.base
	u.Path = Server(u.Path, m.cluster) + path
	u.RawQuery = query.Encode()
	return &u
}

// open asks for something and returns what the answer holds, which may go on for ever. An answer that is an error is
// returned as such, with the words of whoever refused.
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
	defer func() { _ = answer.Body.Close() }() // what mattered of it was read
	return nil, refusal(answer)
}

// refusal is an answer that is an error, with the words of whoever refused.
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
	after, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // 0 is right if it is no number
	return apierrors.NewGenericServerResponse(answer.StatusCode, answer.Request.Method, schema.GroupResource{}, "",
		strings.TrimSpace(string(content[:min(len(content), maxSaid)])), after, true)
}

// maxSaid is how much is told of an answer that is an error and no Status.
const maxSaid = 300

// Kinds of answers: whole objects, and what is said about objects without the objects.
const (
	asJSON     = "application/json"
	asMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// OperatorsOff is LineStatus.Operators of a member whose owner lets no operators in.
const OperatorsOff = "off"

// Line is the line of a cluster as the hub's API shows it.
type Line struct {
	Up bool `json:"up"`
	// Since and Lost are times, as the hub writes them.
	Since string `json:"since"`
	Lost  string `json:"lost"`
	// Goodbye says that the agent ended the last one on purpose.
	Goodbye bool `json:"goodbye,omitempty"`
	// Operators says in words what the owner lets operators do; empty if that is not known.
	Operators string `json:"operators"`
}

// Line reads how the line of a cluster is; nil if the hub knows of none.
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

// Lines reads how the lines of all clusters are, by cluster. Those that never had one are not in it.
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
