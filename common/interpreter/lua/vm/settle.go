package vm

import "github.com/yuin/gopher-lua/ast"

// gopher-lua compiles some calls wrongly: if one value of a call is assigned to a variable, it takes the variable's
// register for the function; if a loop iterates over a call of a call, it calls the wrong value; and a returned call
// becomes a tail call, which has no line.

// settled wraps a call in an expression that has its first value; any other expression is returned as it is.
func settled(e ast.Expr) ast.Expr {
	if _, ok := e.(*ast.FuncCallExpr); !ok {
		return e
	}
	out := &ast.LogicalOpExpr{Operator: "or", Lhs: &ast.NilExpr{}, Rhs: e}
	out.Lhs.SetLine(e.Line())
	out.SetLine(e.Line())
	return out
}

// settle wraps the calls whose values are assigned one by one.
func settle(s *ast.AssignStmt) {
	if call, ok := s.Rhs[0].(*ast.FuncCallExpr); ok && len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		call.AdjustRet = false // further values are dropped all the same
		return
	}
	for i := range s.Rhs {
		if i < len(s.Rhs)-1 || !several(s.Rhs[i]) {
			s.Rhs[i] = settled(s.Rhs[i])
		}
	}
}
