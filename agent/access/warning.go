package access

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"fairlead.dev/agent/access/rules"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/prose"
)

const (
	// managedTimeout bounds the check whether the hub manages an object. Without an answer there is no warning.
	managedTimeout = 2 * time.Second
	// maxHead bounds the part of an object that is read to find its labels, in bytes. They come early.
	maxHead = 64 << 10
	// miscellaneous is the warn-code that clients show to people (RFC 7234).
	miscellaneous = 299
)

// isUndone returns whether a request changes something that the agent reverts if the hub manages the object: the
// object itself, not its status, and not what merely runs beside it.
func isUndone(r rules.Request, rawQuery string) bool {
	if r.Path != "" || r.Resource == "" || r.Reads() || r.Upgrade || !slices.Contains([]string{"", "scale", "eviction"}, r.Subresource) {
		return false
	}
	// A dry run changes nothing. The query was parsed before.
	query, err := url.ParseQuery(rawQuery)
	return err == nil && len(query["dryRun"]) == 0
}

// isManaged returns whether the hub manages the object that a request names. It is called before the request, after
// which the object may be gone, and reads in the operator's name: the agent reads nothing for operators with its own
// rights.
func (p *proxy) isManaged(r *http.Request, of *passing) bool {
	if of.request.Name == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), managedTimeout)
	defer cancel()
	target := *p.base
	target.Path += objectPath(of.request)
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return false
	}
	for _, name := range []string{"Authorization", authenticationv1.ImpersonateUserHeader, authenticationv1.ImpersonateGroupHeader, "User-Agent"} {
		if values := r.Header.Values(name); len(values) > 0 {
			ask.Header[name] = values
		}
	}
	ask.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	answer, err := p.reading.RoundTrip(ask)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }() // its head was read
	return answer.StatusCode == http.StatusOK && hasManagedLabel(io.LimitReader(answer.Body, maxHead))
}

// objectPath returns the API path of the object of a request, without a subresource.
func objectPath(r rules.Request) string {
	parts := []string{"/api", r.Version}
	if r.Group != "" {
		parts = []string{"/apis", r.Group, r.Version}
	}
	if r.Namespace != "" && r.Resource != "namespaces" {
		parts = append(parts, "namespaces", r.Namespace)
	}
	return strings.Join(append(parts, r.Resource, r.Name), "/")
}

// isMadeManaged returns whether an answer is an object that was created with the label of managed objects: somebody
// deleted it and created it again from a copy, for instance. The part of the answer that it reads is put back.
func isMadeManaged(answer *http.Response, of rules.Request) bool {
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if answer.StatusCode != http.StatusCreated || of.Name != "" || kind != "application/json" || answer.Header.Get("Content-Encoding") != "" {
		return false
	}
	var head bytes.Buffer
	is := hasManagedLabel(io.TeeReader(io.LimitReader(answer.Body, maxHead), &head))
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&head, answer.Body), answer.Body}
	return is
}

// hasManagedLabel returns whether the JSON of an object has the label of managed objects. It reads no further than
// the metadata.
func hasManagedLabel(object io.Reader) bool {
	decoder := json.NewDecoder(object)
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return false
		}
		if key == "metadata" {
			var metadata struct {
				Labels map[string]string `json:"labels"`
			}
			return decoder.Decode(&metadata) == nil && metadata.Labels[contract.ManagedLabel] == contract.LabelTrue
		}
		var other json.RawMessage
		if decoder.Decode(&other) != nil {
			return false
		}
	}
	return false
}

// warn adds a Warning header to an answer, which kubectl prints.
func (p *proxy) warn(answer *http.Response, of rules.Request) {
	text := p.cluster + ": the hub sends " + prose.Cut(of.String(), maxSummary) + ", so a change of that here is undone; change it on the hub"
	if header, err := utilnet.NewWarningHeader(miscellaneous, contract.ConnectName, text); err == nil {
		answer.Header.Add("Warning", header)
	}
}

func isSuccess(answer *http.Response) bool {
	return answer.StatusCode >= http.StatusOK && answer.StatusCode < http.StatusMultipleChoices
}
