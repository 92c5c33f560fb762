package kube

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTheCaseOfAKindCounts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	version := schema.GroupVersion{Group: "apps", Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{version})
	plural, singular := version.WithResource("deployments"), version.WithResource("deployment")
	// As client libraries fill it.
	mapper.AddSpecific(version.WithKind("deployment"), plural, singular, meta.RESTScopeNamespace)
	mapper.AddSpecific(version.WithKind("Deployment"), plural, singular, meta.RESTScopeNamespace)

	mapping, err := Mapping(mapper, version.WithKind("Deployment"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mapping.Resource).To(Equal(plural))

	_, err = Mapping(mapper, version.WithKind("deployment"))
	g.Expect(meta.IsNoMatchError(err)).To(BeTrue())
	var misspelt *MisspeltKindError
	g.Expect(errors.As(err, &misspelt)).To(BeTrue())
	g.Expect(misspelt.Served).To(Equal("Deployment"))
	g.Expect(err).To(MatchError(`there is no kind "deployment" in apps/v1, but "Deployment"`))

	_, err = Mapping(mapper, version.WithKind("Deploymnet"))
	g.Expect(meta.IsNoMatchError(err)).To(BeTrue())
	g.Expect(errors.As(err, &misspelt)).To(BeFalse())
}
