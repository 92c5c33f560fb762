package show

import "fairlead.dev/common/contract"

// object is a JSON object.
type object = map[string]any

// OpenAPIPath is the path of the version's OpenAPI v3 document.
const OpenAPIPath = "/openapi/v3" + contract.ConnectAPIPath

// OpenAPIRoot lists the available OpenAPI v3 documents.
func OpenAPIRoot() any {
	return object{"paths": object{contract.ConnectAPIPath[1:]: object{"serverRelativeURL": OpenAPIPath}}}
}

// OpenAPIv3 describes the API for `kubectl explain`.
func OpenAPIv3() any {
	return object{"openapi": "3.0.0", "info": info(), "paths": object{}, "components": object{"schemas": object{schemaName: schema()}}}
}

// OpenAPIv2 describes the same in OpenAPI v2.
func OpenAPIv2() any {
	return object{"swagger": "2.0", "info": info(), "paths": object{}, "definitions": object{schemaName: schema()}}
}

const schemaName = "dev.fairlead.connect.v1alpha1.Line"

func info() object { return object{"title": "Fairlead lines", "version": contract.ConnectVersion} }

func schema() object {
	text := func(kind, description string) object { return object{"type": kind, "description": description} }
	when := func(description string) object {
		return object{"type": "string", "format": "date-time", "description": description}
	}
	return object{
		"type": "object", "description": "Line is the line that the agent of a cluster keeps open to the hub.",
		"properties": object{
			"apiVersion": text("string", "Version of this representation."),
			"kind":       text("string", "Kind of this representation."),
			"metadata":   text("object", "The name is that of the cluster."),
			"status": object{
				"type": "object", "description": "State of the line.",
				"properties": object{
					"up":        text("boolean", "Whether the cluster has an open line."),
					"since":     when("Since when it has had one without a gap, or when the last one began."),
					"lost":      when("When the last line ended."),
					"goodbye":   text("boolean", "Whether the agent ended the last line on purpose."),
					"replica":   text("string", "The replica of the hub that has the line."),
					"presence":  text("string", "How the member reports its presence: line or lease."),
					"operators": text("string", "What the owner of the member lets operators do."),
				},
			},
		},
		"x-kubernetes-group-version-kind": []object{{"group": contract.ConnectGroup, "version": contract.ConnectVersion, "kind": KindLine}},
	}
}
