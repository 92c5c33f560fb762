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
	// refusalLasts is for how long a hub says again and again that it does not let an agent in until that is its word. One that starts, and has
	// not read who may do what, says so for a moment of agents that it lets in afterwards.
	refusalLasts = time.Minute
	// refusalHolds is how long a refusal counts after which the hub fell silent and which did not last. It is longer than an agent that is
	// refused does not ask (callEvery).
	refusalHolds = 2 * time.Minute
	// maxStatus is how much of an answer is read to know who gave it, in bytes. What an API server says has a few hundred.
	maxStatus = 64 << 10
	// protobufMagic begins what an API server says in its own encoding.
	protobufMagic = "k8s\x00"
)

// refusalTracker records how long the hub has refused the agent's reads of its own Cluster, which tell whether it is still a member (see
// ask). Other requests say less: a hub that lost the namespace of the Works refuses to list them, and a hub of another version refuses
// resources that it does not know. It is safe for use by many goroutines.
type refusalTracker struct {
	mu sync.Mutex
	// first is when the hub refused the agent since it let it in last, zero if it did not, and last the same for the last time.
	first, last time.Time
	// confirmed and lastConfirmed are the same of the refusals beside which the hub showed what everybody may see.
	confirmed, lastConfirmed time.Time
}

// granted takes over that the hub lets the agent in, and says whether it did not for long.
func (r *refusalTracker) granted() (after bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	after = r.isLasting()
	r.first, r.last, r.confirmed, r.lastConfirmed = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return after
}

// restore takes over that the hub's word has been, since a time, that it does not.
func (r *refusalTracker) restore(since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first, r.last = since, since.Add(refusalLasts)
	r.confirmed, r.lastConfirmed = r.first, r.last
}

// confirm takes over that a hub which refuses the agent showed at the same time what everybody may see. An API server that does not come to read
// who may do what, as one whose database is away, refuses that as well, and refuses all agents, again and again.
func (r *refusalTracker) confirm(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() {
		return // it has let the agent in meanwhile
	}
	if r.confirmed.IsZero() || now.Sub(r.lastConfirmed) >= refusalHolds && !r.isLasting() {
		r.confirmed = now
	}
	r.lastConfirmed = now
}

// refused takes over that it does not.
func (r *refusalTracker) refused(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() || now.Sub(r.last) >= refusalHolds && !r.isLasting() {
		r.first = now
	}
	r.last = now
}

// isLasting says whether the hub has said it for long enough. The lock must be held.
func (r *refusalTracker) isLasting() bool {
	return !r.confirmed.IsZero() && r.lastConfirmed.Sub(r.confirmed) >= refusalLasts
}

// refusedSince returns since when the hub refuses the agent, zero if it does not, and whether that lasts.
func (r *refusalTracker) refusedSince(now time.Time) (since time.Time, lasts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lasts = r.isLasting(); !lasts && now.Sub(r.last) >= refusalHolds {
		return time.Time{}, false
	}
	return r.first, lasts
}

// observe takes over what an answer says of that, and whether it ends a refusal that lasted.
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

// isGroupRequest says whether a request is about objects of a group.
func isGroupRequest(request *http.Request, group string) bool {
	return strings.HasPrefix(request.URL.Path, "/apis/"+group+"/")
}

// isByAPI says whether an API server gave an answer that is a refusal, which says so in a Status. What stands before it says it in its own way, and
// knows nothing of agents. Who reads the answer afterwards finds it whole.
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

// readCloser reads from one and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}

// brokenReader is the end of an answer that broke off.
type brokenReader struct{ err error }

// Read returns the error.
func (f brokenReader) Read([]byte) (int, error) { return 0, f.err }

// Refused returns since when the hub refuses this agent, which is zero if it lets it in or says nothing, and whether that lasts: then it is the
// hub's word until it says another, however silent it is. That nobody answers is no refusal. An agent that was refused may be one in whose
// place another has joined, and what it remembers may be outdated.
func (c *Credentials) Refused() (since time.Time, lasts bool) {
	return c.refusals.refusedSince(c.clock.Now())
}

// recallRefusal takes over what the state directory says of that: the hub may be silent now, and said no before this agent was started again.
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

// keepRefusal keeps it there, and no longer than it lasts.
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
		k.logOnce(ctx, err, "Whether the hub refuses this agent is not known if it is started again while the hub is silent")
	}
}
