package contract

// MaxAnnotations is the API server's limit for all annotations of an object together, in bytes; it refuses any write
// that exceeds it. A tenant influences how much is to be recorded about its application, and must not thereby prevent
// the hub from recording an eviction. So the annotations on bindings are bounded: these parts, and names besides, fit
// together.
const (
	MaxAnnotations = 256 << 10
	// MaxAppliedPlacement is for AppliedPlacementAnnotation.
	MaxAppliedPlacement = 64 << 10
	// MaxDependencies is for DependenciesAnnotation.
	MaxDependencies = 32 << 10
	// MaxAdmittedRequests is for AdmittedRequestsAnnotation.
	MaxAdmittedRequests = 16 << 10
	// MaxEvictions is for EvictionsAnnotation and EvictionsPackedAnnotation together.
	MaxEvictions = 128 << 10
)
