package dashboard

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/diff"
)

// sentManifest is the manifest that a cluster was sent, and how it differs from another one.
type sentManifest struct {
	Cluster string
	// Text is the manifest, and Diff is how it differs from the template or from another cluster's manifest.
	Text string
	Diff []diff.Line
	// Same says that nothing differs, and Against what it is compared with.
	Same    bool
	Against string
	// Tabs are the views, and Others the clusters to compare with.
	Tabs   []choice
	Others []choice
	// Problem says why there is nothing to show.
	Problem   string
	Overrides []string
	// WithoutEffect are clauses about overriders that changed nothing.
	WithoutEffect []string
	// Revision is the revision that was sent, if changes go out in waves.
	Revision string
	Path     string
}

// readSent reads, as the person, what a cluster was sent of an application.
func (s *Server) readSent(ctx context.Context, v *visit, a *applications.Application, cluster string) sentManifest {
	against, show := v.text("against"), v.text("show")
	out := sentManifest{Cluster: cluster, Against: "the template", Path: v.request.URL.EscapedPath()}
	if against != "" {
		out.Against = "what " + against + " was sent"
		show = "diff"
	}
	out.Tabs = []choice{
		{Text: "Manifest", To: v.with("cluster", cluster, "show", "", "against", ""), Chosen: show != "diff"},
		{Text: "Differs from the template", To: v.with("cluster", cluster, "show", "diff", "against", ""), Chosen: show == "diff" && against == ""},
	}
	for i := range a.Places {
		if name := a.Places[i].Cluster; name != cluster && len(out.Others) < maxChoices {
			out.Others = append(out.Others, choice{Value: name, Text: name, Chosen: name == against})
		}
	}
	content, work, err := s.workOf(ctx, v, a, cluster)
	if err != nil {
		out.Problem = unreadable(err, "what "+cluster+" was sent")
		return out
	}
	out.Overrides, out.WithoutEffect, out.Revision = overridesOf(work), override.WithoutEffect(work.Annotations), revisionOf(work)
	if show != "diff" {
		if out.Text, err = s.manifestOf(content); err != nil {
			out.Problem = err.Error()
		}
		return out
	}
	var base map[string]any
	if against != "" {
		var other *workv1alpha1.Work
		if base, other, err = s.workOf(ctx, v, a, against); err == nil && revisionOf(other) != "" {
			out.Against += " (" + revisionOf(other) + ")"
		}
	} else {
		base, err = s.templateOf(ctx, v, a)
	}
	if err != nil {
		out.Problem = unreadable(err, out.Against)
		return out
	}
	dropUnsent(base)
	dropUnsent(content)
	first, err := s.manifestOf(base)
	second, err2 := s.manifestOf(content)
	if err = errors.Join(err, err2); err != nil {
		out.Problem = err.Error()
		return out
	}
	const around = 3
	if out.Diff, err = diff.Lines(first, second, around); err != nil {
		out.Problem = err.Error()
		return out
	}
	out.Same = len(out.Diff) == 0
	return out
}

// revisionOf returns the revision of a Work; empty if it has none.
func revisionOf(work *workv1alpha1.Work) string {
	id := revision.Parse(work.Annotations[contract.RevisionAnnotation])
	if id.Zero() {
		return ""
	}
	label := fmt.Sprintf("r%d", id.Number)
	if of := work.Annotations[contract.RevisionOfAnnotation]; of != "" {
		label += " of " + of
	}
	return label
}

// unreadable says why something cannot be shown.
func unreadable(err error, what string) string {
	switch {
	case apierrors.IsForbidden(err):
		return "You may not read " + what + ": " + err.Error() + "."
	case apierrors.IsNotFound(err):
		return "Nothing was sent yet: " + err.Error() + "."
	default:
		return "This could not be read: " + err.Error() + "."
	}
}

// workOf reads the Work of an application for a cluster, and the manifest in it.
func (s *Server) workOf(ctx context.Context, v *visit, a *applications.Application, cluster string) (map[string]any, *workv1alpha1.Work, error) {
	namespace := contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, cluster)
	c := &clusterv1alpha1.Cluster{}
	if err := v.user.Hub.Get(ctx, client.ObjectKey{Name: cluster}, c); err == nil && c.Annotations[contract.ExecutionNamespaceAnnotation] != "" {
		namespace = c.Annotations[contract.ExecutionNamespaceAnnotation]
	}
	work := &workv1alpha1.Work{}
	if err := v.user.Hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: contract.WorkName(a.Kind, a.Namespace, a.Name)}, work); err != nil {
		return nil, nil, err
	}
	if len(work.Spec.Workload.Manifests) == 0 {
		return nil, nil, fmt.Errorf("work %s/%s carries nothing", namespace, work.Name)
	}
	content, err := contentOf(work.Spec.Workload.Manifests[0].Raw)
	return content, work, err
}

// templateOf reads the template of an application.
func (s *Server) templateOf(ctx context.Context, v *visit, a *applications.Application) (map[string]any, error) {
	group, err := schema.ParseGroupVersion(a.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("reading the API version %q: %w", a.APIVersion, err)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(group.WithKind(a.Kind))
	if err := v.user.Hub.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: a.Name}, u); err != nil {
		return nil, err
	}
	return u.Object, nil
}
