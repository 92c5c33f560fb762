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
	// managedTimeout is how long it may take to find out whether the hub sends an object. Without an answer nobody is warned.
	managedTimeout = 2 * time.Second
	// maxHead bounds what is read of an object to find its labels, in bytes. They come before most of it.
	maxHead = 64 << 10
	// miscellaneous is the code of a warning that people should read.
	miscellaneous = 299
)

// isUndone says whether a request changes something that the agent puts back if the hub sends it: an object itself, not its
// status, and none of what only runs beside it.
func isUndone(r rules.Request, rawQuery string) bool {
	if r.Path != "" || r.Resource == "" || r.Reads() || r.Upgrade || !slices.Contains([]string{"", "scale", "eviction"}, r.Subresource) {
		return false
	}
	// A trial run changes nothing. The query was understood before.
	query, err := url.ParseQuery(rawQuery)
	return err == nil && len(query["dryRun"]) == 0
}

// isManaged says whether the hub sends the object that a request names. It is asked before the request, after which it may
// be gone, and in the operator's name: nothing is read for operators with the rights of the agent.
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

// objectPath is the path of the object that a request is about, without a subresource.
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

// isMadeManaged says whether an answer is an object that was made with the label of those that the hub sends, as one is that
// was deleted and made again from what was read of it. What it reads of the answer is put back.
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

// hasManagedLabel says whether the JSON of an object has the label of what the hub sends. It reads no farther than its metadata.
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

// warn adds a warning to an answer, which kubectl prints.
func (p *proxy) warn(answer *http.Response, of rules.Request) {
	text := p.cluster + ": the hub sends " + prose.Cut(of.String(), maxSummary) + ", so what is changed of that here is undone; change it at the hub"
	if header, err := utilnet.NewWarningHeader(miscellaneous, contract.ConnectName, text); err == nil {
		answer.Header.Add("Warning", header)
	}
}

// isSuccess says whether an answer says that something was done.
func isSuccess(answer *http.Response) bool {
	return answer.StatusCode >= http.StatusOK && answer.StatusCode < http.StatusMultipleChoices
}
