package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet/hollow"
	"fairlead.dev/test/requests"
)

func TestRequestsForAnOrdinaryApplicationAreNotThoseOfAgentsNorWatchesThatEnd(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(ofApplications(used{
		server: meter.Server{Requests: map[string]float64{
			"PATCH works/status": 20, "PATCH works": 50, "WATCH stagedrollouts": 1, "GET secrets": 2, "GET clusters": 9, "GET deployments": 100,
		}},
		agents: hollow.Traffic{Counts: requests.Counts{Requests: map[string]int64{"PATCH works/status": 20, "PATCH works": 10}}},
	})).To(Equal(map[string]float64{"PATCH works": 2, "GET secrets": 0.1, "GET deployments": 5}))
}
