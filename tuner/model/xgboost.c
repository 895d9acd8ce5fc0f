/* Opens tunec-xgboost.so on first use: only a search needs it. */
#include "tuner/model/kind.h"
#include "lib/module.h"

const XgboostModule *xgboost_module(Error *error)
{
	static const ModuleName name = {.what = "XGBoost",
	    .file = "tunec-xgboost.so",
	    .symbol = "tunec_xgboost",
	    .version = XGBOOST_MODULE_VERSION,
	    .needs = "libxgboost",
	    .package = "libxgboost0",
	    .built_with = "libxgboost-dev"};
	return module_open(&name, error);
}
