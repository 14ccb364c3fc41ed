"""Words that tell a sentence from a value. Data only."""

from __future__ import annotations


def wordset(text: str) -> frozenset[str]:
    """Return the white-space-separated words of ``text``."""
    return frozenset(text.split())


# Passwords in other languages, with the forms that stand before a value.
PASSWORDS_ELSEWHERE = wordset(
    """
    passwort kennwort losung wachtwoord passe contraseña contrasena clave senha parola hasło hasła haslo heslo hesla
    lösenord lösenordet losenord adgangskode adgangskoden passord passordet salasana salasanan jelszó jelszava jelszo
    şifre şifresi şifreniz sifre parolası пароль пароля паролем лозинка лозинку парола κωδικός κωδικο סיסמה הסיסמה סיסמא
    المرور السر khẩu sandi sandinya
    """
)
TYPES = wordset(
    """
    str string text bytes bytearray int integer bool boolean float number any object none null nil undefined
    true false optional required char varchar secretstr uuid void type var let const hidden password file
    email date array list dict map default empty blank unset off on yes no
    """
)
STOP_WORDS = wordset(
    """
    anders korrekt richtig zurückgesetzt geändert verschlüsselt scaduta scaduto errata corretta richiesta obbligatoria
    cambiata expiré expirée incorrecte oublié modifié nécessaire caducada caducado olvidada expirada vencida inválida
    erforderlich falsch nicht ungültig gespeichert geheim abgelaufen obligatoire requis obligatoria
    incorrecta requerida return pass raise elif match break continue print assert lambda a able about above
    mindestens muss müssen soll sollte darf kann wird wurde sind siehe bitte eingeben benötigt läuft liegt zurücksetzen
    vergessen ändern neu neues neue wurden policy policies rule rules manager page pages help guide link strength length
    hint hints accepted accessible accurate across added after again against all allow allows already also always am an
    and another any anything appropriate are as ask at available await back bad be because been before being
    below best better between beyond big both but by can cannot case changed changing check choose click
    come common complex compromised confidential contact correct could create critical crucial currently
    dead default different difficult do does don't done down each easy either else empty encrypted enough
    enter essential even ever every everything exactly expired false few field find fine first fixed
    following for forgotten found from full fully generally generated get give given go good great had hard
    has hashed have having he held help her here hidden his how however i if important in incorrect indeed
    inside instead into invalid is it its just keep kept key kind known lack last later least left less let
    like likely limited local long longer lost low made main make making managed mandatory many masked may
    me mean meant might minimum missing more most much must my necessary need needed needs never new next no
    none not nothing now null obvious of off often ok okay old on once one only optional or other our out
    over own part password passwords per perhaps please poor possible private probably protected provide
    provided public put quite rather really recommended redacted required reset right safe same see seem
    sensitive sent separate set several shall she short should shown similar simple simply since so some
    something soon still store stored strong subject such sure take than that the their them then there
    these they this those through thus tied time to together token tokens too top true type typed typically
    unavailable under unique unknown unlike unsafe until up upon us use used useful user users using usually
    valid value very via visible vital vulnerable want was way we weak well were what when where whether
    which while who whose why will with within without worth would wrong yet you your
    """
)
# Words that hold a sentence together; a passphrase of ordinary words has none of them.
GRAMMAR = wordset(
    """
    a all an and any are as at be been but by can case change choose click contain contains do each enter
    every field for from has have here if in into is it its leave letters longer may minimum more must need
    needs never new not of on one only optional or our please provide require required requires same shall
    should some stored than that the their them then these they this to type use used user users uses using
    was when which will with you your characters
    """
)
