package registration

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

const (
	// refusalLasts is how long a hub has to refuse an agent, again and again, until the refusal counts. A hub that is
	// starting and has not read its roles yet may briefly refuse agents that it admits afterwards.
	refusalLasts = time.Minute
	// refusalHolds is how long a shorter refusal is remembered while the hub is silent. It exceeds the interval at
	// which a refused agent asks (callEvery).
	refusalHolds = 2 * time.Minute
	// maxStatus bounds the part of an answer that is read to tell whether an API server sent it, in bytes; a Status
	// has a few hundred.
	maxStatus = 64 << 10
	// protobufMagic is the prefix of objects in Kubernetes' protobuf encoding.
	protobufMagic = "k8s\x00"
)

// refusalTracker records how long the hub has refused the agent's reads of its own Cluster, which tell whether it is
// still a member (see ask). Other requests say less: a hub that lost the namespace of the Works refuses to list them,
// and a hub of another version refuses resources that it does not know. It is safe for concurrent use.
type refusalTracker struct {
	mu sync.Mutex
	// first and last are the times of the first and the last refusal since the hub admitted the agent; zero if there was none.
	first, last time.Time
	// confirmed and lastConfirmed are the same for refusals after which the hub also served its public ConfigMaps.
	confirmed, lastConfirmed time.Time
}

// granted records that the hub admitted the agent, and returns whether that ends a lasting refusal.
func (r *refusalTracker) granted() (after bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	after = r.isLasting()
	r.first, r.last, r.confirmed, r.lastConfirmed = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return after
}

// restore sets a lasting refusal, read from the state directory.
func (r *refusalTracker) restore(since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first, r.last = since, since.Add(refusalLasts)
	r.confirmed, r.lastConfirmed = r.first, r.last
}

// confirm records that a hub that refuses the agent also served its public ConfigMaps. An API server that cannot read
// its roles, because its database is down, refuses these as well, to every agent.
func (r *refusalTracker) confirm(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() {
		return // it has admitted the agent meanwhile
	}
	if r.confirmed.IsZero() || now.Sub(r.lastConfirmed) >= refusalHolds && !r.isLasting() {
		r.confirmed = now
	}
	r.lastConfirmed = now
}

// refused records a refusal.
func (r *refusalTracker) refused(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() || now.Sub(r.last) >= refusalHolds && !r.isLasting() {
		r.first = now
	}
	r.last = now
}

// isLasting returns whether the refusal has lasted for refusalLasts. The caller holds the lock.
func (r *refusalTracker) isLasting() bool {
	return !r.confirmed.IsZero() && r.lastConfirmed.Sub(r.confirmed) >= refusalLasts
}

// refusedSince returns since when the hub refuses the agent, zero if it does not, and whether the refusal is lasting.
func (r *refusalTracker) refusedSince(now time.Time) (since time.Time, lasts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lasts = r.isLasting(); !lasts && now.Sub(r.last) >= refusalHolds {
		return time.Time{}, false
	}
	return r.first, lasts
}

// observe records an answer, and returns whether it ends a lasting refusal.
func (r *refusalTracker) observe(request *http.Request, response *http.Response, now time.Time) (ends bool) {
	if request.Method != http.MethodGet {
		return false
	}
	isCluster := isGroupRequest(request, clusterv1alpha1.GroupVersion.Group)
	switch code := response.StatusCode; {
	case code < http.StatusBadRequest && (isCluster || isGroupRequest(request, workv1alpha1.GroupVersion.Group)):
		return r.granted()
	case code != http.StatusUnauthorized && code != http.StatusForbidden || !isCluster:
	case isByAPI(response):
		r.refused(now)
	}
	return false
}

// isGroupRequest returns whether a request is for objects of an API group.
func isGroupRequest(request *http.Request, group string) bool {
	return strings.HasPrefix(request.URL.Path, "/apis/"+group+"/")
}

// isByAPI returns whether a refusal was sent by an API server, whose refusals are Status objects, and not by a proxy
// in front of it, which knows nothing about agents. The body can be read again afterwards.
func isByAPI(response *http.Response) bool {
	begin, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	rest := io.Reader(response.Body)
	if err != nil {
		rest = brokenReader{err}
	}
	response.Body = readCloser{io.MultiReader(bytes.NewReader(begin), rest), response.Body}
	if response.Header.Get("Content-Encoding") == "gzip" {
		if begin, err = unzipped(begin); err != nil {
			return false
		}
	}
	if bytes.HasPrefix(begin, []byte(protobufMagic)) {
		return true
	}
	status := metav1.TypeMeta{}
	return json.Unmarshal(begin, &status) == nil && status.Kind == "Status" && status.APIVersion == "v1"
}

func unzipped(raw []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says what it was
	}
	return io.ReadAll(io.LimitReader(reader, maxStatus))
}

// readCloser combines a Reader and a Closer.
type readCloser struct {
	io.Reader
	io.Closer
}

// brokenReader returns the error that interrupted an answer.
type brokenReader struct{ err error }

// Read returns the error.
func (f brokenReader) Read([]byte) (int, error) { return 0, f.err }

// Refused returns since when the hub refuses this agent, zero if it does not, and whether the refusal is lasting:
// then it counts until the hub admits the agent, even while the hub is silent. Silence is not a refusal. Another
// agent may have joined in place of a refused one, whose journal may then be outdated.
func (c *Credentials) Refused() (since time.Time, lasts bool) {
	return c.refusals.refusedSince(c.clock.Now())
}

// recallRefusal reads a lasting refusal from the state directory: the hub may have refused the agent before a
// restart, and be silent now.
func (c *Credentials) recallRefusal() error {
	raw, err := c.state.read(refusedFile)
	if raw == nil || err != nil {
		return err
	}
	var since time.Time
	if json.Unmarshal(raw, &since) != nil {
		return c.state.remove(refusedFile)
	}
	c.refusals.restore(since)
	return nil
}

// keepRefusal saves a lasting refusal to the state directory, and removes one that has ended.
func (k *rotator) keepRefusal(ctx context.Context) {
	since, lasts := k.Refused()
	raw, err := k.state.read(refusedFile)
	switch {
	case err != nil:
	case lasts && raw == nil:
		err = k.state.writeJSON(refusedFile, since)
	case since.IsZero() && raw != nil:
		err = k.state.remove(refusedFile)
	}
	if err != nil {
		k.logOnce(ctx, err, "Could not record whether the hub refuses this agent, so it is not known if the agent is started again while the hub is silent")
	}
}
