package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/hub/people/pods/owned"
)

// Limits of a search.
const (
	// atOnce is how many clusters are asked in parallel.
	atOnce = 16
	// maxPods is how many pods of a cluster are read, and pageSize the page size.
	maxPods  = 5000
	pageSize = 500
	// maxPages bounds the pages of a member that returns smaller ones.
	maxPages = 2 * maxPods / pageSize
)

// Application is a workload in its clusters.
type Application struct {
	// Resource and Kind are those of the workload.
	Resource schema.GroupVersionResource
	Kind     string
	// Namespace and Name are the same in all clusters.
	Namespace, Name string
}

// Found has the pods of an application in one cluster.
type Found struct {
	Cluster string      `json:"cluster"`
	Pods    []owned.Pod `json:"pods"`
	// Error says why the pods are unknown, in the words of whoever refused, and Reason is the reason in the API's
	// response.
	Error  string              `json:"error,omitempty"`
	Reason metav1.StatusReason `json:"reason,omitempty"`
	// More says that there are more pods than were read.
	More bool `json:"more,omitempty"`

	err error
	// selector and version are where a watch of the pods starts.
	selector, version string
}

// Err returns why the pods are unknown; nil if they are known.
func (f *Found) Err() error { return f.err }

// Find reads the pods of an application from clusters, several in parallel, and returns the results in the order of the
// given names. It fails only if the context ends.
func (m *Members) Find(ctx context.Context, app Application, clusters []string) ([]Found, error) {
	out := make([]Found, len(clusters))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, name := range clusters {
		g.Go(func() error {
			out[i] = m.FindIn(gctx, app, name)
			return gctx.Err()
		})
	}
	return out, g.Wait()
}

// FindIn reads the pods of an application from one cluster.
func (m *Members) FindIn(ctx context.Context, app Application, cluster string) Found {
	s := search{member: member{m, cluster}, app: app}
	out := Found{Cluster: cluster, Pods: []owned.Pod{}}
	if err := s.run(ctx); err != nil {
		if errors.Is(err, errLargeObject) {
			err = fmt.Errorf("what %s answers is refused: %w", cluster, err)
		}
		out.err, out.Error, out.Reason = err, ErrorSentence(err), apierrors.ReasonForError(err)
		return out
	}
	for i := range s.pods {
		if s.tree.Owns(&s.pods[i]) {
			out.Pods = append(out.Pods, s.pods[i].Pod)
		}
	}
	slices.SortFunc(out.Pods, func(a, b owned.Pod) int { return cmp.Compare(a.Name, b.Name) })
	out.More, out.selector, out.version = s.more, s.selector, s.version
	return out
}

// ErrorSentence says why a request to a member failed, in the words of whoever refused.
func ErrorSentence(err error) string {
	var network *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("there was no answer in %s", askTimeout)
	case errors.As(err, &network):
		return network.Err.Error() // without the address, which is long and tells people nothing
	default:
		return err.Error()
	}
}
