// Package builder makes API objects for tests, in one readable line each:
//
//	builder.MakeDeployment("shop", "web").Replicas(2).Label("app", "web").Obj()
//	builder.MakePolicy("shop", "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1", "edge-2").Obj()
//
// Templates are unstructured, as the hub and the agent handle them; the kinds of the propagation API are typed. Each
// Obj returns a new object, so a builder can be reused.
package builder
