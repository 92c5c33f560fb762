package clusterstatus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"fairlead.dev/agent/clusterstatus/facts"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

const (
	// probeTimeout bounds each request to the member.
	probeTimeout = 10 * time.Second
	// maxAnswer bounds the part of an answer that is read, in bytes.
	maxAnswer = 64 << 20
	// acceptAggregated asks for aggregated discovery. Both versions have the same shape.
	acceptAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
		"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
)

// member makes requests to the member's API server. It is not safe for concurrent use.
type member struct {
	client *http.Client
	base   *url.URL

	// lists are the discovery documents by path. Their ETags let the server answer that nothing changed.
	lists map[string]*list
	// enablements are the sum of the lists.
	enablements []clusterv1alpha1.APIEnablement
	partial     bool
}

type list struct {
	// known says that the list was read at least once.
	known  bool
	tag    string
	groups []apidiscoveryv2.APIGroupDiscovery
}

func newMember(config *rest.Config, c *http.Client) (*member, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the member: %w", err)
	}
	return &member{client: c, base: base, lists: map[string]*list{"/api": {}, "/apis": {}}}, nil
}

// Probe checks whether the API server is ready.
func (m *member) Probe(ctx context.Context) facts.Probe {
	for _, path := range []string{"/readyz", "/healthz"} {
		answer, err := m.get(ctx, path, nil)
		switch {
		case err != nil:
			return facts.Probe{}
		case answer.code == http.StatusNotFound:
			continue
		default:
			return facts.Probe{Answered: answer.code >= 200 && answer.code < 300, Code: answer.code}
		}
	}
	return facts.Probe{}
}

// Version returns the version of the API server.
func (m *member) Version(ctx context.Context) (string, error) {
	answer, err := m.get(ctx, "/version", nil)
	if err != nil {
		return "", err
	}
	if answer.code != http.StatusOK {
		return "", fmt.Errorf("asking for the member's version: status %d", answer.code)
	}
	info := version.Info{}
	if err := json.Unmarshal(answer.body, &info); err != nil {
		return "", fmt.Errorf("reading the member's version: %w", err)
	}
	return info.GitVersion, nil
}

// Enablements returns the APIs of the member, and whether the list may be incomplete. It returns none until every
// list was read once, since an incomplete list would replace the one that the hub has from before.
func (m *member) Enablements(ctx context.Context) (all []clusterv1alpha1.APIEnablement, partial bool) {
	changed, failed := false, false
	for path, l := range m.lists {
		fresh, err := m.discover(ctx, path, l)
		changed = changed || fresh
		failed = failed || err != nil
	}
	for _, l := range m.lists {
		if !l.known {
			return nil, true
		}
	}
	if changed || m.enablements == nil {
		groups := make([]apidiscoveryv2.APIGroupDiscovery, 0, len(m.lists["/api"].groups)+len(m.lists["/apis"].groups))
		groups = append(append(groups, m.lists["/api"].groups...), m.lists["/apis"].groups...)
		m.enablements, m.partial = facts.Enablements(groups...)
	}
	return m.enablements, m.partial || failed
}

// discover updates one list and returns whether it changed.
func (m *member) discover(ctx context.Context, path string, l *list) (bool, error) {
	header := http.Header{"Accept": {acceptAggregated}}
	if l.tag != "" {
		header.Set("If-None-Match", l.tag)
	}
	answer, err := m.get(ctx, path, header)
	if err != nil {
		return false, err
	}
	if answer.code == http.StatusNotModified {
		return false, nil
	}
	if answer.code != http.StatusOK {
		return false, fmt.Errorf("discovering the member's APIs: status %d", answer.code)
	}
	found := apidiscoveryv2.APIGroupDiscoveryList{}
	if err := json.Unmarshal(answer.body, &found); err != nil {
		return false, fmt.Errorf("reading the member's APIs: %w", err)
	}
	if found.Kind != "APIGroupDiscoveryList" {
		return false, errors.New("the member does not list its APIs in one answer; it must be Kubernetes 1.27 or newer")
	}
	l.known, l.tag, l.groups = true, answer.tag, found.Items
	return true, nil
}

// answer is an answer of the API server.
type answer struct {
	code int
	tag  string
	body []byte
}

func (m *member) get(ctx context.Context, path string, header http.Header) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base.JoinPath(path).String(), nil)
	if err != nil {
		return answer{}, fmt.Errorf("asking the member for %s: %w", path, err)
	}
	if header != nil {
		request.Header = header
	}
	response, err := m.client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("asking the member for %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, fmt.Errorf("asking the member for %s: %w", path, err)
	}
	return answer{code: response.StatusCode, tag: response.Header.Get("ETag"), body: body}, nil
}
