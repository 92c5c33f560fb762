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

// Bounds of a search.
const (
	// atOnce is how many clusters are asked at the same time.
	atOnce = 16
	// maxPods is how many pods are read of one cluster, pageSize how many with one request.
	maxPods  = 5000
	pageSize = 500
	// maxPages is for a member whose pages are smaller than that.
	maxPages = 2 * maxPods / pageSize
)

// Application is a workload, as its clusters have it.
type Application struct {
	// Resource and Kind are those of the object.
	Resource schema.GroupVersionResource
	Kind     string
	// Namespace and Name are the same in all clusters.
	Namespace, Name string
}

// Found has the pods of an application in one cluster.
type Found struct {
	Cluster string      `json:"cluster"`
	Pods    []owned.Pod `json:"pods"`
	// Error says why the pods are not known, in the words of whoever refused; Reason is that of the API's answer.
	Error  string              `json:"error,omitempty"`
	Reason metav1.StatusReason `json:"reason,omitempty"`
	// More says that there are more pods than are read.
	More bool `json:"more,omitempty"`

	err error
	// selector and version are from where on changes of the pods are followed.
	selector, version string
}

// Err returns why the pods are not known; nil if they are.
func (f *Found) Err() error { return f.err }

// Find asks clusters for the pods of an application, several at once, and returns what each said, in the order of the names
// given. It fails only if the context ends.
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

// FindIn asks one cluster for the pods of an application.
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

// ErrorSentence says why a member did not answer as it should, in the words of whoever refused.
func ErrorSentence(err error) string {
	var network *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("there was no answer in %s", askTimeout)
	case errors.As(err, &network):
		return network.Err.Error() // the address is long, and says nothing to people
	default:
		return err.Error()
	}
}
